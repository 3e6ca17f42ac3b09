/**
 * What the active process knows of all WebhookEndpoints: loaded at the start of a term, followed by every committed
 * change, before it is acknowledged. As many are in memory as there are, about a kilobyte each.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { matcherOf, type EventOrigin } from '../../src/kinds/webhookendpoint/matches.js';
import type { WebhookEndpointSpec, WebhookEndpointStatus } from '../../src/kinds/webhookendpoint/schema.js';
import type { CommittedChange } from '../../storage/commit/request.js';

export const ENDPOINT = 'WebhookEndpoint';

export interface Endpoint {
  readonly address: Address;
  readonly uid: string;
  readonly url: string;
  /** Neither paused nor under deletion: what is pending for it is sent. */
  readonly open: boolean;
  /** Version since which it has been open, as far as this process has seen it: an event of before is not for it. */
  readonly openSince: number;
  /** Until when (ms) the secret before the current one signs as well. */
  readonly previousUntil: number | undefined;
  /** Its status counts deliveries of the last 24 hours, which get fewer with time. */
  readonly counts: boolean;
  matches(origin: EventOrigin): boolean;
}

export interface Endpoints {
  /** Any change, in version order; most are of other kinds. True when it was an endpoint's. */
  committed(change: CommittedChange): boolean;
  /** Every change up to this version is known. */
  version(): number;
  of(org: string): Iterable<Endpoint>;
  has(org: string): boolean;
  get(uid: string): Endpoint | undefined;
  all(): Iterable<Endpoint>;
}

/** `stored` is everything as of version `head`. */
export function openEndpoints(
  stored: readonly { readonly org: string; readonly body: Buffer }[],
  head: number,
): Endpoints {
  let version = head;
  const byUid = new Map<string, Endpoint>();
  const byOrg = new Map<string, Map<string, Endpoint>>();

  function put(endpoint: Endpoint): void {
    const { org } = endpoint.address;
    byUid.set(endpoint.uid, endpoint);
    const others = byOrg.get(org);
    if (others) others.set(endpoint.uid, endpoint);
    else byOrg.set(org, new Map([[endpoint.uid, endpoint]]));
  }

  function drop(org: string, uid: string): void {
    byUid.delete(uid);
    byOrg.get(org)?.delete(uid);
    if (byOrg.get(org)?.size === 0) byOrg.delete(org);
  }

  for (const { org, body } of stored) put(toEndpoint(org, body, 0));

  return {
    committed(change) {
      version = Math.max(version, change.version);
      if (change.address.kind !== ENDPOINT) return false;
      if (change.type === 'DELETED') drop(change.address.org, change.uid);
      else {
        const before = byUid.get(change.uid);
        put(toEndpoint(change.address.org, change.after, before?.open ? before.openSince : change.version));
      }
      return true;
    },
    version: () => version,
    of: (org) => byOrg.get(org)?.values() ?? [],
    has: (org) => byOrg.has(org),
    get: (uid) => byUid.get(uid),
    all: () => byUid.values(),
  };
}

function toEndpoint(org: string, body: Buffer, openSince: number): Endpoint {
  const { metadata, spec, status } = decodeObject<WebhookEndpointSpec, WebhookEndpointStatus>(body);
  const until = status.secretRotation?.previousExpirationTime;
  const { failed = 0, succeeded = 0 } = status.deliveries24h ?? {};
  return {
    address: { org, kind: ENDPOINT, project: '', name: metadata.name },
    uid: metadata.uid,
    url: spec.url,
    open: spec.enabled && metadata.deletionTimestamp === undefined,
    openSince,
    previousUntil: until === undefined ? undefined : Date.parse(until),
    counts: failed + succeeded > 0,
    matches: metadata.deletionTimestamp === undefined ? matcherOf(spec) : () => false,
  };
}
