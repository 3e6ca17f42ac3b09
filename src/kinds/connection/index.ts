/** The declaration of Connection: an external system that work may use. */
import type { ApiObject } from '../../api/object.js';
import { dateColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { named } from '../shapes/references.js';
import {
  CONNECTION_IMMUTABLE,
  connectionSpec,
  type ConnectionSpec,
  connectionStatus,
  type ConnectionStatus,
} from './schema.js';

type This = ApiObject<ConnectionSpec, ConnectionStatus>;

export const connectionKind: KindDefinition = {
  kind: 'Connection',
  plural: 'connections',
  singular: 'connection',
  shortNames: ['conn'],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  unbuilt: true,
  description:
    'An external system that work may use: a database, an experiment tracker, a git host or object storage. It is verified before it is used.',
  schema: { spec: connectionSpec, status: connectionStatus, immutable: CONNECTION_IMMUTABLE, raiseOnly: [] },
  columns: [
    phaseColumn('Connection'),
    textColumn('Type', 'What it leads to.', ({ spec }: This) => spec.type),
    textColumn('Scope', 'What a database is used for.', ({ spec }: This) => spec.scope),
    dateColumn('Verified', 'When it was last found to work.', ({ status }: This) => status.lastVerifiedTime),
    wide(textColumn('Secret', 'Secret with the credential.', ({ spec }: This) => spec.secret)),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.type': (object: This) => object.spec.type,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: (): ConnectionStatus => ({ phase: 'Pending' }),
  references: connectionReferences,
  machine: plainMachine<ConnectionSpec, ConnectionStatus>(),
};

export function connectionReferences({ spec }: ApiObject<ConnectionSpec>): readonly Reference[] {
  return named('Secret', 'spec.secret', spec.secret);
}
