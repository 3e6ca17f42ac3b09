/**
 * The address of an object: the one key under which it is stored, routed and cached.
 * The address outlives an incarnation; the `uid` names the incarnation (handles, timers, messages carry it).
 *
 * I12: the org is the first part of every address, so nothing can be named without it.
 */

export interface Address {
  /** Tenant. Never empty. */
  readonly org: string;
  /** The kind's name as in `kind:`, for example `Job`. */
  readonly kind: string;
  /** The project (`metadata.namespace`); the empty string for org-level kinds. */
  readonly project: string;
  readonly name: string;
}

/** One string per address. Parts are DNS names and CamelCase words, so `/` separates them without escapes. */
export function addressKey(address: Address): string {
  return `${address.org}/${address.kind}/${address.project}/${address.name}`;
}

export function sameAddress(a: Address, b: Address): boolean {
  return a.name === b.name && a.kind === b.kind && a.project === b.project && a.org === b.org;
}
