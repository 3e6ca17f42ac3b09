/** What the declarations of kinds share: the sets of their operations, and makers of the columns that kubectl prints. */
import type { ApiObject } from '../api/object.js';
import type { Column, KindDefinition, Operation } from './kind.js';

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

/** Kinds that have no routes of their own. */
export const NO_OPERATIONS: ReadonlySet<Operation> = new Set<Operation>();

/** Whether DELETE of a collection is served. It needs a list to choose from. */
export function deletesCollections({ operations, collectionDelete }: KindDefinition): boolean {
  return operations.has('delete') && operations.has('list') && collectionDelete !== 'OneByOne';
}

/** Reads the value of a cell. A method's type, so that a kind may read its own spec and status typed. */
type Read<Value> = { read(object: ApiObject): Value | null | undefined }['read'];

/** A text; empty where there is none. A list is printed as `a,b`. */
export function textColumn(name: string, description: string, read: Read<string | readonly string[]>): Column {
  return { name, type: 'string', description, cell: (object) => textOf(read(object)) };
}

function textOf(value: string | readonly string[] | null | undefined): string {
  return typeof value === 'string' ? value : (value?.join(',') ?? '');
}

/** A number of things; 0 where none were counted. */
export function countColumn(name: string, description: string, read: Read<number>): Column {
  return { name, type: 'integer', description, cell: (object) => read(object) ?? 0 };
}

/** A number, or an empty cell. */
export function integerColumn(name: string, description: string, read: Read<number>): Column {
  return { name, type: 'integer', description, cell: (object) => read(object) ?? null };
}

export function booleanColumn(name: string, description: string, read: Read<boolean>): Column {
  return { name, type: 'boolean', description, cell: (object) => read(object) ?? false };
}

/** A timestamp, which is printed as its age. */
export function dateColumn(name: string, description: string, read: Read<string>): Column {
  return { name, type: 'date', description, cell: (object) => read(object) ?? null };
}

/** The same column, shown with `-o wide` only. */
export function wide(column: Column): Column {
  return { ...column, priority: 1 };
}

/** The status fields that most kinds have. */
type Common = ApiObject<
  unknown,
  {
    readonly phase?: string | undefined;
    readonly reason?: string | undefined;
    readonly cost?: { readonly totalUSD?: string | undefined } | undefined;
  }
>;

export function phaseColumn(kind: string): Column {
  return textColumn('Phase', `Phase of the ${kind}.`, ({ status }: Common) => status.phase);
}

/** Of kinds that spend money. */
export function costColumn(): Column {
  return wide(textColumn('Cost', 'What it has cost, in USD.', ({ status }: Common) => status.cost?.totalUSD));
}

export function reasonColumn(): Column {
  return wide(textColumn('Reason', 'Why it is in this phase.', ({ status }: Common) => status.reason));
}
