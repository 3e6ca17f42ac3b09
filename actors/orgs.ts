/**
 * Owns the birth of an org: its row, its project `default`, its first member and that member's key; and what the
 * deployment itself needs before anybody comes: the catalogs and this machine's Node.
 * Every step is idempotent, so a first start that was cut off is finished by the next one.
 */
import { BRAND, CATALOG_PROJECT } from '../src/brand.js';
import type { Address } from '../src/api/address.js';
import { BOOTSTRAP_ORG } from '../src/api/access/role.js';
import { decodeObject } from '../src/api/encode.js';
import { refuse, RefusalError } from '../src/api/refusal.js';
import { DEFAULT_PROJECT } from '../src/kinds/project/machine.js';
import type { Orgs } from '../storage/orgs.js';
import type { ServiceWrite } from './effects/children.js';
import type { WriteReply } from './stage.js';

export interface OrgDeps {
  readonly rows: Orgs;
  write(address: Address, write: ServiceWrite): Promise<WriteReply>;
  randomBytes(length: number): Uint8Array;
}

/** Something that the service keeps in step with its own files or machine: made when absent, replaced when different. */
export interface Kept {
  readonly address: Address;
  readonly spec: unknown;
}

const OWNER = 'owner';

export type CreatedOrg =
  | { readonly outcome: 'Created'; readonly org: string; readonly key: string }
  | { readonly outcome: 'Taken' };

/** A new org with the key of its first Owner, which is shown this once. */
export async function createOrg(name: string, deps: OrgDeps): Promise<CreatedOrg> {
  const org = `o-${Buffer.from(deps.randomBytes(4)).toString('hex')}`;
  if (!(await deps.rows.insert(org, name))) return { outcome: 'Taken' };
  await furnish(org, deps);
  return { outcome: 'Created', org, key: await ownerKey(org, [], deps) };
}

/** The bootstrap org, furnished; its row is made when absent. */
export async function ensureBootstrapOrg(deps: OrgDeps): Promise<void> {
  await deps.rows.insert(BOOTSTRAP_ORG, BOOTSTRAP_ORG);
  await furnish(BOOTSTRAP_ORG, deps);
}

/** One more Owner key of the bootstrap org, with the operator's scope. The caller writes it where only the owner reads. */
export function bootstrapKey(deps: OrgDeps): Promise<string> {
  return ownerKey(BOOTSTRAP_ORG, ['*:*', 'operator:*'], deps);
}

/** Writes what is absent or different, leaves alone what is equal. */
export async function keep(kept: readonly Kept[], deps: OrgDeps): Promise<void> {
  for (const { address, spec } of kept) {
    const body = { metadata: { name: address.name }, spec };
    const made = await deps.write(address, { verb: 'create', body });
    if (made.outcome === 'Done') continue;
    if (made.refusal.code !== 'AlreadyExists') throw new RefusalError(made.refusal);
    const patched = await deps.write(address, { verb: 'patch', patch: { type: 'merge', patch: { spec } } });
    if (patched.outcome === 'Refused') throw new RefusalError(patched.refusal);
  }
}

async function furnish(org: string, deps: OrgDeps): Promise<void> {
  for (const name of [DEFAULT_PROJECT, CATALOG_PROJECT]) {
    await ensure({ org, kind: 'Namespace', project: '', name }, {}, deps);
  }
  await ensure(
    { org, kind: 'Member', project: '', name: OWNER },
    { email: `owner@${org}.${BRAND}`, role: 'Owner' },
    deps,
  );
}

async function ensure(address: Address, spec: unknown, deps: OrgDeps): Promise<void> {
  const reply = await deps.write(address, { verb: 'create', body: { metadata: { name: address.name }, spec } });
  if (reply.outcome === 'Refused' && reply.refusal.code !== 'AlreadyExists') throw new RefusalError(reply.refusal);
}

async function ownerKey(org: string, scopes: readonly string[], deps: OrgDeps): Promise<string> {
  const suffix = Buffer.from(deps.randomBytes(4)).toString('hex');
  const address: Address = { org, kind: 'APIKey', project: '', name: `owner-${suffix}` };
  const spec = { member: OWNER, ...(scopes.length > 0 ? { scopes } : { scopes: ['*:*'] }) };
  const reply = await deps.write(address, { verb: 'create', body: { metadata: { name: address.name }, spec } });
  if (reply.outcome === 'Refused') throw new RefusalError(reply.refusal);
  const { key } = decodeObject(reply.body).status as { key?: string };
  if (key === undefined) throw refuse('InternalError', 'the new key was not revealed');
  return key;
}
