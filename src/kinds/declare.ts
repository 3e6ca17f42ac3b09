/** Owns the small vocabulary that declarations of kinds share. */
import type { ApiObject } from '../api/object.js';
import type { Column, Operation } from './kind.js';

export const EVERY_OPERATION: ReadonlySet<Operation> = new Set([
  'list',
  'create',
  'read',
  'replace',
  'patch',
  'delete',
  'readStatus',
]);

/** Kinds that the service alone writes. */
export const READ_ONLY: ReadonlySet<Operation> = new Set(['list', 'read']);

/** A list in a column: `a,b`; nothing when there is none. */
export function listCell(values: readonly string[] | null | undefined): string {
  return values?.join(',') ?? '';
}

/** The status fields that most kinds have. */
interface CommonStatus {
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  readonly cost?: { readonly totalUSD?: string | undefined } | undefined;
}

export function phaseColumn(kind: string): Column {
  return {
    name: 'Phase',
    type: 'string',
    description: `Phase of the ${kind}.`,
    cell: ({ status }: ApiObject<unknown, CommonStatus>) => status.phase ?? '',
  };
}

/** Of kinds that spend money. */
export function costColumn(): Column {
  return {
    name: 'Cost',
    type: 'string',
    priority: 1,
    description: 'What it has cost, in USD.',
    cell: ({ status }: ApiObject<unknown, CommonStatus>) => status.cost?.totalUSD ?? '',
  };
}

export function reasonColumn(): Column {
  return {
    name: 'Reason',
    type: 'string',
    priority: 1,
    description: 'Why it is in this phase.',
    cell: ({ status }: ApiObject<unknown, CommonStatus>) => status.reason ?? '',
  };
}
