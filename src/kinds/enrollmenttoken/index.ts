/** Owns the declaration of EnrollmentToken: what a machine shows once to join as a Node. */
import type { ApiObject } from '../../api/object.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { enrollmentTokenReferences } from './references.js';
import {
  enrollmentTokenSpec,
  enrollmentTokenStatus,
  type EnrollmentTokenSpec,
  type EnrollmentTokenStatus,
} from './schema.js';

type This = ApiObject<EnrollmentTokenSpec, EnrollmentTokenStatus>;

export const enrollmentTokenKind: KindDefinition = {
  kind: 'EnrollmentToken',
  plural: 'enrollmenttokens',
  singular: 'enrollmenttoken',
  shortNames: [],
  categories: ['fleet'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'create', 'read', 'delete']),
  description: 'A short-lived token with which machines join as Nodes. Its value is shown once, by the create.',
  schema: { spec: enrollmentTokenSpec, status: enrollmentTokenStatus, immutable: ['spec'], raiseOnly: [] },
  columns: [
    {
      name: 'Pool',
      type: 'string',
      description: 'The Pool that a machine joins.',
      cell: (object: This) => object.spec.pool ?? '',
    },
    {
      name: 'Phase',
      type: 'string',
      description: 'Active, Used or Expired.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Uses',
      type: 'string',
      description: 'Machines that it has enrolled, of those that it may.',
      cell: (object: This) => `${object.status.uses ?? 0}/${object.spec.maxUses}`,
    },
    {
      name: 'Expires',
      type: 'string',
      priority: 1,
      description: 'From then on it is refused.',
      cell: (object: This) => object.status.expirationTime ?? '',
    },
  ],
  selectableFields: { 'spec.pool': (object: This) => object.spec.pool },
  initialStatus: () => ({ phase: 'Active', uses: 0 }),
  references: enrollmentTokenReferences,
  unbuilt: true,
  machine: plainMachine<EnrollmentTokenSpec, EnrollmentTokenStatus>(),
};
