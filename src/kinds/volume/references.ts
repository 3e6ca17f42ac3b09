/** Owns what a Volume names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import { databaseConnection, storeConnection } from '../connection/named.js';
import type { Reference } from '../kind.js';
import { named } from '../shapes/references.js';
import type { VolumeSpec } from './schema.js';

export function volumeReferences({ spec: { source } }: ApiObject<VolumeSpec>): readonly Reference[] {
  return [
    ...databaseConnection('spec.source.connectionQuery.connection', source?.connectionQuery?.connection),
    ...named('Secret', 'spec.source.hub.secret', source?.hub?.secret),
    ...storeConnection('spec.source.s3.connection', source?.s3?.connection),
  ];
}
