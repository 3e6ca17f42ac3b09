/** The declaration of CloudAccount: a customer's account at a cloud, observed and never changed. */
import { findCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { dateColumn, EVERY_OPERATION, textColumn, wide } from '../declare.js';
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
    textColumn('Provider', 'CloudA or CloudB.', ({ spec }: This) => spec.provider),
    textColumn('Phase', 'Pending, Ready or Failed.', ({ status }: This) => status.phase),
    textColumn(
      'Synced',
      'Whether the last reading went well.',
      ({ status }: This) => findCondition(status.conditions, 'Synced')?.status,
    ),
    wide(dateColumn('Last Sync', 'When it was read last.', ({ status }: This) => status.lastSyncTime)),
    wide(textColumn('Observes', 'What is read.', ({ spec }: This) => spec.observe)),
  ],
  selectableFields: { 'spec.provider': (object: This) => object.spec.provider },
  initialStatus: () => ({ phase: 'Pending' }),
  unbuilt: true,
  machine: plainMachine<CloudAccountSpec, CloudAccountStatus>(),
};
