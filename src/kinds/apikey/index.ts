/** The declaration of APIKey, and the rule for keys that act as another member. */
import type { Author } from '../../api/access/author.js';
import type { ApiObject } from '../../api/object.js';
import type { Refusal } from '../../api/refusal.js';
import { textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { isOwner, keepsOwner, lastOwner, ownerOf, roleBeyond } from '../member/rule.js';
import type { MemberSpec } from '../member/schema.js';
import type { OrgRule, OrgView } from '../rule.js';
import { apiKeyMachine } from './machine.js';
import { type APIKeySpec, apiKeySpec, apiKeyStatus, type APIKeyStatus } from './schema.js';

async function beyond(spec: APIKeySpec, by: Author, org: string, view: OrgView): Promise<Refusal | undefined> {
  const { member: name } = spec;
  if (name === undefined || name === by.member) return undefined;
  const member = await view.read('Member', name);
  const role = member && roleBeyond([(member.spec as MemberSpec).role], by, org);
  if (role === undefined) return undefined;
  return {
    code: 'Forbidden',
    message: `member ${name} with role ${role} may do more than you: only someone who may do as much can make or delete that member's keys`,
    fix: `Ask ${name} or an Owner of the org.`,
  };
}

/**
 * A key that acts as another member is made and deleted only by a caller who may do as much as that member: an Admin neither makes a key of
 * the Owner's nor takes one away. The last key of the last Owner stays.
 */
export const apiKeyRule: OrgRule = async ({ org, by, before, after, alongside }, view) => {
  const spec = (after ?? before)?.spec as APIKeySpec;
  const refusal = await beyond(spec, by, org, view);
  if (refusal !== undefined || after !== undefined || before === undefined) return refusal;
  const owner = ownerOf(before);
  if (owner === undefined) return undefined;
  const member = await view.read('Member', owner);
  if (member === undefined || !isOwner(member)) return undefined;
  return (await keepsOwner(view, before, alongside)) ? undefined : lastOwner;
};

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
  collectionDelete: 'AllOrNone',
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
