/** Owns the small vocabulary that declarations of kinds share. */
import type { Operation } from './kind.js';

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
