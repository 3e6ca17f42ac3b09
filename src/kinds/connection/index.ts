/** Owns the declaration of Connection: an external system that work may use. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { connectionReferences } from './references.js';
import {
  CONNECTION_IMMUTABLE,
  connectionSpec,
  connectionStatus,
  type ConnectionSpec,
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
    {
      name: 'Type',
      type: 'string',
      description: 'What it leads to.',
      cell: (object: This) => object.spec.type,
    },
    {
      name: 'Scope',
      type: 'string',
      description: 'What a database is used for.',
      cell: (object: This) => object.spec.scope ?? '',
    },
    {
      name: 'Verified',
      type: 'date',
      description: 'When it was last found to work.',
      cell: (object: This) => object.status.lastVerifiedTime ?? null,
    },
    {
      name: 'Secret',
      type: 'string',
      priority: 1,
      description: 'Secret with the credential.',
      cell: (object: This) => object.spec.secret ?? '',
    },
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
