/** Owns what a Volume names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { named } from '../shapes/references.js';
import type { VolumeSpec } from './schema.js';

export function volumeReferences({ spec: { source } }: ApiObject<VolumeSpec>): readonly Reference[] {
  return [
    ...named('Connection', 'spec.source.connectionQuery.connection', source?.connectionQuery?.connection),
    ...named('Secret', 'spec.source.hub.secret', source?.hub?.secret),
    ...named('Connection', 'spec.source.s3.connection', source?.s3?.connection),
  ];
}
