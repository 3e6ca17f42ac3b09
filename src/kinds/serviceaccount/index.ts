/** The declaration of ServiceAccount: the identity of a project's code and machines. */
import type { ApiObject } from '../../api/object.js';
import type { KindDefinition } from '../kind.js';
import { EVERY_OPERATION, textColumn, wide } from '../declare.js';
import { serviceAccountMachine } from './machine.js';
import {
  serviceAccountSpec,
  serviceAccountStatus,
  tokenInput,
  type ServiceAccountSpec,
  type ServiceAccountStatus,
} from './schema.js';

/** Every project is born with this one; work runs as it unless it names another. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';

type This = ApiObject<ServiceAccountSpec, ServiceAccountStatus>;

export const serviceAccountKind: KindDefinition = {
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: ['access'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Project identity for code and machines. It belongs to the project and not to the member who made it, so its keys keep working when the member leaves.',
  schema: { spec: serviceAccountSpec, status: serviceAccountStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn('Scopes', 'What its tokens and bound keys may do.', ({ spec }: This) => spec.scopes),
    wide(textColumn('Description', 'Description for people.', ({ spec }: This) => spec.description)),
  ],
  selectableFields: {},
  initialStatus: () => ({}),
  actions: [
    {
      path: 'tokens',
      action: 'IssueToken',
      description: 'Issues a token of this ServiceAccount. `status.token` of the answer holds its value, once.',
      scope: 'serviceaccounts:write',
      input: tokenInput,
      status: 201,
    },
  ],
  machine: serviceAccountMachine,
};
