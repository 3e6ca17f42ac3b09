/** The declaration of EnrollmentToken: what a machine shows once to join as a Node. */
import type { ApiObject } from '../../api/object.js';
import { textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import {
  enrollmentTokenSpec,
  type EnrollmentTokenSpec,
  enrollmentTokenStatus,
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
    textColumn('Pool', 'The Pool that a machine joins.', ({ spec }: This) => spec.pool),
    textColumn('Phase', 'Active, Used or Expired.', ({ status }: This) => status.phase),
    textColumn(
      'Uses',
      'Machines that it has enrolled, of those that it may.',
      ({ spec, status }: This) => `${status.uses ?? 0}/${spec.maxUses}`,
    ),
    wide(textColumn('Expires', 'From then on it is refused.', ({ status }: This) => status.expirationTime)),
  ],
  selectableFields: { 'spec.pool': (object: This) => object.spec.pool },
  initialStatus: () => ({ phase: 'Active', uses: 0 }),
  references: enrollmentTokenReferences,
  unbuilt: true,
  machine: plainMachine<EnrollmentTokenSpec, EnrollmentTokenStatus>(),
};

export function enrollmentTokenReferences({ spec }: ApiObject<EnrollmentTokenSpec>): readonly Reference[] {
  return spec.pool === undefined ? [] : [{ field: 'spec.pool', kind: 'Pool', name: spec.pool }];
}
