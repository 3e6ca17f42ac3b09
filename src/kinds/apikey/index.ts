/** Owns the declaration of APIKey: a bearer key of the org. It is made, read and deleted, and never changed. */
import type { ApiObject } from '../../api/object.js';
import { textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { apiKeyMachine } from './machine.js';
import { apiKeyRule } from './rule.js';
import { apiKeySpec, apiKeyStatus, type APIKeySpec, type APIKeyStatus } from './schema.js';

function references(spec: APIKeySpec): readonly Reference[] {
  const found: Reference[] = (spec.projects ?? []).map((name, at) => ({
    field: `spec.projects[${at}]`,
    kind: 'Namespace',
    project: '',
    name,
  }));
  if (spec.member !== undefined) found.push({ field: 'spec.member', kind: 'Member', project: '', name: spec.member });
  if (spec.serviceAccount !== undefined) {
    const { project, name } = spec.serviceAccount;
    found.push({ field: 'spec.serviceAccount', kind: 'ServiceAccount', project, name });
  }
  return found;
}

type This = ApiObject<APIKeySpec, APIKeyStatus>;

export const apiKeyKind: KindDefinition = {
  kind: 'APIKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortNames: ['key', 'keys'],
  categories: ['access'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'create', 'read', 'delete']),
  description: 'A bearer key. Its value is in the answer to its create and nowhere else; only a hash of it is kept.',
  schema: { spec: apiKeySpec, status: apiKeyStatus, immutable: ['spec'], raiseOnly: [] },
  columns: [
    textColumn('Prefix', 'First characters of the key.', ({ status }: This) => status.prefix),
    textColumn('Scopes', 'What the key may do.', ({ spec }: This) => spec.scopes),
    textColumn('Expires', 'When it ends.', ({ spec }: This) => spec.expirationTime ?? '<never>'),
    wide(textColumn('Created By', 'Who made it.', ({ status }: This) => status.createdBy)),
  ],
  selectableFields: {},
  initialStatus: () => ({}),
  references: (object: This) => references(object.spec),
  rule: apiKeyRule,
  machine: apiKeyMachine,
};
