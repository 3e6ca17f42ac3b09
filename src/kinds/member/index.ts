/** The declaration of Member: a person of the org, and what that person may do. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { memberMachine } from './machine.js';
import { memberRule } from './rule.js';
import { memberSpec, memberStatus, type MemberSpec, type MemberStatus } from './schema.js';

type This = ApiObject<MemberSpec, MemberStatus>;

export const memberKind: KindDefinition = {
  kind: 'Member',
  plural: 'members',
  singular: 'member',
  shortNames: [],
  categories: ['access'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  collectionDelete: 'AllOrNone',
  description: 'A person of the org with a role. Keys act within the role of the member who made them.',
  schema: { spec: memberSpec, status: memberStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn('Email', 'Address of the member.', ({ spec }: This) => spec.email),
    textColumn('Role', 'Owner, Admin, Developer, Viewer or Billing.', ({ spec }: This) => spec.role),
    wide(
      textColumn(
        'Projects',
        'Projects that the member may act in; nothing: every project.',
        ({ spec }: This) => spec.projects,
      ),
    ),
  ],
  selectableFields: {
    'spec.email': (object: This) => object.spec.email,
    'spec.role': (object: This) => object.spec.role,
  },
  initialStatus: () => ({}),
  references: (object: This) =>
    (object.spec.projects ?? []).map((name, at) => ({
      field: `spec.projects[${at}]`,
      kind: 'Namespace',
      project: '',
      name,
    })),
  rule: memberRule,
  machine: memberMachine,
};
