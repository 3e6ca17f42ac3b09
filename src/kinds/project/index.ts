/** The declaration of projects. A project is a core Namespace (`/api/v1/namespaces`) at org level. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, textColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { namespaceMachine } from './machine.js';
import { namespaceSpec, namespaceStatus, type NamespaceSpec, type NamespaceStatus } from './schema.js';

type This = ApiObject<NamespaceSpec, NamespaceStatus>;

export const namespaceKind: KindDefinition = {
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  scope: 'org',
  group: 'core',
  version: 'v1',
  operations: EVERY_OPERATION,
  collectionDelete: 'OneByOne',
  description: 'A project. Deleting it deletes what is in it, children first.',
  schema: { spec: namespaceSpec, status: namespaceStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn(
      'Status',
      'Active, or Terminating while what is in it is being deleted.',
      ({ status }: This) => status.phase,
    ),
  ],
  selectableFields: {},
  initialStatus: () => ({}),
  machine: namespaceMachine,
};
