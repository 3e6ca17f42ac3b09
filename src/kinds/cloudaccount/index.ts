/** Owns the declaration of CloudAccount: a customer's account at a cloud, observed and never changed. */
import { findCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, listCell } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { cloudAccountSpec, cloudAccountStatus, type CloudAccountSpec, type CloudAccountStatus } from './schema.js';

type This = ApiObject<CloudAccountSpec, CloudAccountStatus>;

export const cloudAccountKind: KindDefinition = {
  kind: 'CloudAccount',
  plural: 'cloudaccounts',
  singular: 'cloudaccount',
  shortNames: ['ca'],
  categories: ['fleet'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description: "Read-only observation of a customer's public-cloud account. Nothing in the account is changed.",
  schema: { spec: cloudAccountSpec, status: cloudAccountStatus, immutable: ['spec.provider'], raiseOnly: [] },
  columns: [
    {
      name: 'Provider',
      type: 'string',
      description: 'CloudA or CloudB.',
      cell: (object: This) => object.spec.provider,
    },
    {
      name: 'Phase',
      type: 'string',
      description: 'Pending, Ready or Failed.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Synced',
      type: 'string',
      description: 'Whether the last reading went well.',
      cell: ({ status }: This) => findCondition(status.conditions, 'Synced')?.status ?? '',
    },
    {
      name: 'Last Sync',
      type: 'date',
      priority: 1,
      description: 'When it was read last.',
      cell: (object: This) => object.status.lastSyncTime ?? null,
    },
    {
      name: 'Observes',
      type: 'string',
      priority: 1,
      description: 'What is read.',
      cell: (object: This) => listCell(object.spec.observe),
    },
  ],
  selectableFields: { 'spec.provider': (object: This) => object.spec.provider },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<CloudAccountSpec, CloudAccountStatus>(),
};
