/**
 * How a found credential becomes a `Caller`: what its object, its member or its ServiceAccount says now, cut by the
 * pure rules of `src/api/access`. Reads those objects through the narrow `Principals`; keeps nothing.
 */
import {
  credentialDetail,
  effectiveGrant,
  type CredentialDetail,
  type Principal,
} from '../../src/api/access/credential.js';
import { checker } from '../../src/api/access/grant.js';
import type { Address } from '../../src/api/address.js';
import { addressKey } from '../../src/api/address.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Caller } from '../../actors/resource-service.js';
import type { StoredCredential } from '../../storage/store.js';

export type Principals = (address: Address) => Promise<ApiObject | undefined>;

/** A caller and everything whose change makes it out of date. */
export interface KnownCaller {
  readonly caller: Caller;
  /** ms since the epoch; from then on the credential is worth nothing. */
  readonly expires: number | undefined;
  /** Address keys of the objects that it was read from. */
  readonly sources: readonly string[];
}

/**
 * Undefined: the object of the credential is gone, or is an Attempt, which may not call this API.
 * An object whose deletion has begun counts as gone, however long a finalizer holds it.
 */
export async function makeCaller(
  sha256: string,
  credential: StoredCredential,
  principals: Principals,
): Promise<KnownCaller | undefined> {
  const detail = credentialDetail(credential.detail);
  if (detail === undefined) return undefined;
  const { org } = credential.address;
  const standing: Principals = async (address) => {
    const object = await principals(address);
    return object?.metadata.deletionTimestamp === undefined ? object : undefined;
  };
  const own = await standing(credential.address);
  if (own === undefined || own.metadata.uid !== credential.uid) return undefined;
  const address = principalAddress(org, detail);
  const makers = (detail.boundTo ?? []).map((name): Address => ({ org, kind: 'Member', project: '', name }));
  const [principal, ...others] = await Promise.all([address, ...makers].map(standing));
  const bounds = [principal, ...others].map((object, at) => object && asPrincipal(makers[at - 1] ?? address, object));
  const grant = effectiveGrant(detail, bounds, org);
  const caller: Caller = {
    org,
    holder: holderOf(sha256, credential),
    credential: credential.address,
    ...grant,
    ...names(detail, principal),
    ...(detail.passesOn === undefined ? {} : { boundTo: detail.passesOn }),
    ...(credential.expires === undefined ? {} : { expires: credential.expires }),
    may: checker(grant),
  };
  const sources = [credential.address, address, ...makers].map(addressKey);
  return { caller, expires: credential.expires, sources };
}

/**
 * Idempotency-Keys belong to one credential. A key object has one, so its uid names it; a ServiceAccount has many tokens,
 * each cut to what its issuer could do, and one must not be shown the answer (a new key, say) that another was given.
 */
function holderOf(sha256: string, { address, uid }: StoredCredential): string {
  return address.kind === 'ServiceAccount' ? `${uid}/${sha256}` : uid;
}

function principalAddress(org: string, detail: CredentialDetail): Address {
  if ('member' in detail.actsAs) return { org, kind: 'Member', project: '', name: detail.actsAs.member };
  const { project, name } = detail.actsAs.serviceAccount;
  return { org, kind: 'ServiceAccount', project, name };
}

function asPrincipal(address: Address, object: ApiObject): Principal {
  const spec = object.spec as Record<string, never>;
  return address.kind === 'Member'
    ? { kind: 'Member', spec }
    : { kind: 'ServiceAccount', project: address.project, spec };
}

function names(
  detail: CredentialDetail,
  principal: ApiObject | undefined,
): Pick<Caller, 'name' | 'member' | 'serviceAccount'> {
  if ('member' in detail.actsAs) {
    const email = (principal?.spec as { readonly email?: unknown } | undefined)?.email;
    return { name: typeof email === 'string' ? email : detail.actsAs.member, member: detail.actsAs.member };
  }
  const { project, name } = detail.actsAs.serviceAccount;
  return { name: `serviceaccount:${project}/${name}`, serviceAccount: { project, name } };
}
