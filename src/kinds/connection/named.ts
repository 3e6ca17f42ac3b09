/** What other kinds ask of a Connection that they name: that it leads to something of the right type. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { named } from '../shapes/references.js';
import { DATABASES, type ConnectionSpec, type ConnectionType } from './schema.js';

/** For rows: of queries, and of outputs that are loaded. */
export function databaseConnection(field: string, name: string | undefined): readonly Reference[] {
  return ofType(field, name, DATABASES, 'database');
}

/** For objects of buckets. */
export function storeConnection(field: string, name: string | undefined): readonly Reference[] {
  return ofType(field, name, new Set(['S3']), 'object storage');
}

function ofType(
  field: string,
  name: string | undefined,
  types: ReadonlySet<ConnectionType>,
  what: string,
): readonly Reference[] {
  return named('Connection', field, name).map((reference) => ({
    ...reference,
    objection: ({ spec }: ApiObject<ConnectionSpec>) =>
      types.has(spec.type)
        ? undefined
        : `Connection "${reference.name}" is of type ${spec.type} and leads to no ${what}`,
  }));
}
