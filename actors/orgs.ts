/**
 * Makes an org: its row, its project `default`, its first member and that member's key; and what the
 * deployment itself needs before its first client: the catalogs and this machine's Node.
 * Every step is idempotent, so a first start that was cut off is finished by the next one, and a new org whose making
 * was cut off is finished when it is asked for again.
 */
import { BRAND, CATALOG_PROJECT } from '../src/brand.js';
import type { Address } from '../src/api/address.js';
import { BOOTSTRAP_ORG } from '../src/api/access/role.js';
import { decodeObject } from '../src/api/encode.js';
import { refuse, RefusalError } from '../src/api/refusal.js';
import { OPERATOR_SCOPE } from '../src/api/access/scope.js';
import { isOwner } from '../src/kinds/member/rule.js';
import { WALLET_ADDRESS } from '../src/kinds/wallet/address.js';
import { DEFAULT_PROJECT } from '../src/kinds/project/machine.js';
import type { Keyed } from '../storage/commit/request.js';
import type { Orgs } from '../storage/orgs.js';
import type { ServiceWrite } from './effects/children.js';
import { findAnswer, keepAnswer, type KeyedAnswers } from './keyed-answers.js';
import type { WriteReply } from './resource-service.js';

export interface OrgDeps {
  readonly rows: Orgs;
  /** Names of orgs that are being made right now; one at a time makes an org. */
  readonly making: Set<string>;
  write(address: Address, write: ServiceWrite): Promise<WriteReply>;
  /** From then on the org's wallet is of the mode that this deployment has. */
  setWallet(org: string): Promise<void>;
  randomBytes(length: number): Uint8Array;
  /** An org's first key is shown in no other place. Operators have their keys in the bootstrap org. */
  readonly answers: KeyedAnswers;
}

/** Something that the service keeps in step with its own files or machine: made when absent, replaced when different. */
export interface Kept {
  readonly address: Address;
  readonly spec: unknown;
}

/** Wallets that are looked at together at the start. */
const WALLETS = 500;
const OWNER = 'owner';
const FIRST_GRANT = 'bootstrap';

export type CreatedOrg =
  | {
      readonly outcome: 'Created';
      readonly org: string;
      readonly key: string;
      /** The answer of an earlier time: the request was sent again. */
      readonly replayed?: boolean | undefined;
    }
  | { readonly outcome: 'Taken' };

export type RecoveredOrg = Extract<CreatedOrg, { outcome: 'Created' }> | { readonly outcome: 'NotFound' };

/**
 * A new org with the key of its first Owner, which is shown this once. Its name is taken only when that key is made: what
 * was cut off before is gone on with, and a key that was never shown is replaced. One whose answer was lost is shown
 * again to the same request under its Idempotency-Key.
 */
export async function createOrg(name: string, deps: OrgDeps, keyed?: Keyed): Promise<CreatedOrg> {
  if (deps.making.has(name))
    throw refuse('RequestInProgress', `the org "${name}" is being made`, { retryAfterSeconds: 1 });
  deps.making.add(name);
  try {
    const before = keyed && (await replayed(keyed, deps));
    if (before) {
      await deps.rows.ready(before.org); // it may have been cut off just before
      return before;
    }
    const org = await deps.rows.claim(`o-${hex(deps)}`, name);
    if (org === undefined) return { outcome: 'Taken' };
    await deps.setWallet(org);
    await seedOrg(org, deps);
    const key = await firstKey(org, deps);
    if (keyed) await keepCreated(keyed, org, key, deps);
    await deps.rows.ready(org);
    return { outcome: 'Created', org, key };
  } finally {
    deps.making.delete(name);
  }
}

/**
 * One more Owner key of an org, shown this once: the operator's way back in for an org whose Owners are locked out. It is for
 * the org's first Member, or for a new one where that one is no Owner any more: no role is changed.
 */
export async function recoverOrg(name: string, deps: OrgDeps, keyed?: Keyed): Promise<RecoveredOrg> {
  const before = keyed && (await replayed(keyed, deps));
  if (before) return before;
  const org = await deps.rows.find(name);
  if (org === undefined) return { outcome: 'NotFound' };
  const member = await ownerIn(org, deps);
  const scopes = org === BOOTSTRAP_ORG ? ['*:*', OPERATOR_SCOPE] : ['*:*'];
  const key = await ownerKey(org, `owner-${hex(deps)}`, scopes, deps, member);
  if (keyed) await keepCreated(keyed, org, key, deps);
  return { outcome: 'Created', org, key };
}

/** The name of a Member who is an Owner: the first one, or else a new one. */
async function ownerIn(org: string, deps: OrgDeps): Promise<string> {
  const first: Address = { org, kind: 'Member', project: '', name: OWNER };
  await ensure(first, ownerSpec(org), deps);
  // A patch of nothing reads.
  const found = await deps.write(first, { verb: 'patch', patch: { type: 'merge', patch: {} } });
  if (found.outcome === 'Done' && isOwner(decodeObject(found.body))) return OWNER;
  const name = `${OWNER}-${hex(deps)}`;
  await ensure({ ...first, name }, ownerSpec(org), deps);
  return name;
}

function ownerSpec(org: string): object {
  return { email: `owner@${org}.${BRAND}`, role: 'Owner' };
}

async function replayed(keyed: Keyed, deps: OrgDeps): Promise<Extract<CreatedOrg, { outcome: 'Created' }> | undefined> {
  const before = await findAnswer(deps.answers, BOOTSTRAP_ORG, keyed);
  if (before === undefined) return undefined;
  const { org, key: shown } = JSON.parse(before.toString('utf8')) as { org: string; key: string };
  return { outcome: 'Created', org, key: shown, replayed: true };
}

async function keepCreated(keyed: Keyed, org: string, key: string, deps: OrgDeps): Promise<void> {
  await keepAnswer(deps.answers, BOOTSTRAP_ORG, keyed, Buffer.from(JSON.stringify({ org, key })));
}

/** The bootstrap org with its first project, Owner and key; its row is made when absent. `credits` in USD are given once, with the grant of that name. */
export async function ensureBootstrapOrg(deps: OrgDeps, credits: string): Promise<void> {
  const isFirst = (await deps.rows.find(BOOTSTRAP_ORG)) === undefined;
  await deps.rows.claim(BOOTSTRAP_ORG, BOOTSTRAP_ORG);
  // Also of orgs that were made while the deployment had another.
  const orgs = await deps.rows.list();
  for (let from = 0; from < orgs.length; from += WALLETS)
    await Promise.all(
      orgs.slice(from, from + WALLETS).map(async ({ org }) => {
        await deps.setWallet(org);
        await ensureWallet(org, deps);
      }),
    );
  await seedOrg(BOOTSTRAP_ORG, deps);
  // Ready before: what it was given or not given then stands.
  if (isFirst && Number(credits) > 0) {
    const grant: Address = { org: BOOTSTRAP_ORG, kind: 'CreditGrant', project: '', name: FIRST_GRANT };
    await ensure(grant, { amountUSD: credits, source: 'Bootstrap', note: 'Given to the first org.' }, deps);
  }
  await deps.rows.ready(BOOTSTRAP_ORG);
}

/** One more Owner key of the bootstrap org, with the operator's scope. The caller writes it where only the owner reads. */
export async function bootstrapKey(deps: OrgDeps): Promise<string> {
  const member = await ownerIn(BOOTSTRAP_ORG, deps);
  return ownerKey(BOOTSTRAP_ORG, `owner-${hex(deps)}`, ['*:*', 'operator:*'], deps, member);
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

async function seedOrg(org: string, deps: OrgDeps): Promise<void> {
  for (const name of [DEFAULT_PROJECT, CATALOG_PROJECT]) {
    await ensure({ org, kind: 'Namespace', project: '', name }, {}, deps);
  }
  await ensure({ org, kind: 'Member', project: '', name: OWNER }, ownerSpec(org), deps);
  await ensureWallet(org, deps);
}

function ensureWallet(org: string, deps: OrgDeps): Promise<void> {
  return ensure({ org, ...WALLET_ADDRESS }, {}, deps);
}

async function ensure(address: Address, spec: unknown, deps: OrgDeps): Promise<void> {
  const reply = await deps.write(address, { verb: 'create', body: { metadata: { name: address.name }, spec } });
  if (reply.outcome === 'Refused' && reply.refusal.code !== 'AlreadyExists') throw new RefusalError(reply.refusal);
}

/** The name is the same in each attempt, so that at most one key is left by those that were cut off. */
async function firstKey(org: string, deps: OrgDeps): Promise<string> {
  const name = `owner-${org.slice(2)}`;
  const left = await deps.write({ org, kind: 'APIKey', project: '', name }, { verb: 'delete', options: {} });
  if (left.outcome === 'Refused' && left.refusal.code !== 'NotFound') throw new RefusalError(left.refusal);
  return ownerKey(org, name, ['*:*'], deps);
}

async function ownerKey(
  org: string,
  name: string,
  scopes: readonly string[],
  deps: OrgDeps,
  member = OWNER,
): Promise<string> {
  const spec = { member, scopes };
  const made = await deps.write(
    { org, kind: 'APIKey', project: '', name },
    { verb: 'create', body: { metadata: { name }, spec } },
  );
  if (made.outcome === 'Refused') throw new RefusalError(made.refusal);
  const { key } = decodeObject(made.body).status as { key?: string };
  if (key === undefined) throw refuse('InternalError', 'the new key was not revealed');
  return key;
}

function hex(deps: OrgDeps): string {
  return Buffer.from(deps.randomBytes(4)).toString('hex');
}
