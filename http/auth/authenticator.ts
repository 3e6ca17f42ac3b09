/**
 * Finds who a request comes from. A credential is looked up by its SHA-256 and what was found is kept, so that a known
 * key costs one hash and one Map look-up per request, without a promise.
 *
 * What makes a kept answer wrong: its key or token ends, its member or ServiceAccount changes or goes, its time is over.
 * The first two arrive through `forget` (called for each committed change of those kinds) and, from another process,
 * after TTL_MS at the latest; the time is looked at on every use. From REFRESH_MS on, a use starts the next look-up and is
 * served meanwhile.
 *
 * I10: at most MAX_KNOWN callers; the least recently used go. Known credentials have look-ups of their own, at most one
 * each. All others share MAX_LOOKUPS, MAX_LOOKUPS_PER_ADDRESS of them for one client address, and each that fails counts
 * against its address (`addresses.ts`): a flood of made-up keys takes neither Postgres nor its place from the others.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressKey, type Address } from '../../src/api/address.js';
import { refuse } from '../../src/api/refusal.js';
import type { Credentials } from '../../storage/store.js';
import type { Addresses } from './addresses.js';
import { bearerHash } from './bearer.js';
import { openForgotten } from './forgotten.js';
import { makeCaller, type KnownCaller, type Principals } from './caller.js';
import { atMost } from '../../src/lru-bound.js';

/** About 1.5 kB each. */
const MAX_KNOWN = 10_000;
/** How long another process's change may go unnoticed. */
const TTL_MS = 15_000;
const REFRESH_MS = 10_000;
const MAX_LOOKUPS = 64;
const MAX_LOOKUPS_PER_ADDRESS = 16;

/** A caller, and the credential that proved it. */
export interface Identity extends KnownCaller {
  /** Of the credential. */
  readonly sha256: string;
}

interface Entry extends Identity {
  readonly digest: Buffer;
  /** `now` at which its look-up began; -Infinity once it may be wrong. */
  readAt: number;
}

interface Lookup {
  /** Changes that had been forgotten when it began. */
  readonly before: number;
  readonly found: Promise<Entry | undefined>;
}

export interface Authenticator {
  /** Who sends this header, when the credential is known already and good. Costs no wait. */
  known(header: string | undefined): Identity | undefined;
  /** Whether it was good before, also when that has to be looked up again: no stranger's. */
  wasKnown(header: string | undefined): boolean;
  /** Who sends this header from this client address, or Unauthorized. */
  authenticate(header: string | undefined, from: string): Promise<Identity>;
  /** Who is behind a credential that was good before, by its SHA-256: as it is now, or Unauthorized. */
  again(sha256: string): Promise<Identity>;
  /** Whether nothing has made this answer doubtful since. */
  isCurrent(identity: Identity): boolean;
  /** This object has changed or is gone: the callers that were read from it are read again. */
  forget(address: Address): void;
  /** Everything may have changed meanwhile: a standby has become the active process. */
  forgetAll(): void;
}

export interface AuthenticatorDeps {
  readonly credentials: Credentials;
  readonly principals: Principals;
  readonly addresses: Addresses;
  readonly clock: () => number;
  /** Called for a use of a credential, at most once per look-up (lastUsedTime is the credential's own matter). */
  readonly onUse?: ((address: Address, uid: string) => void) | undefined;
  /** Monotonic, ms. */
  readonly now?: (() => number) | undefined;
}

const BAD_KEY = 'the API key is not valid';

export function openAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { addresses, now = () => performance.now() } = deps;
  /** Also what has to be read again: that it was good once gives it a look-up of its own. */
  const known = new LRUCache<string, Entry>(atMost(MAX_KNOWN));
  const lookups = new Map<string, Lookup>();
  /** Look-ups of unknown credentials under way, by client address. */
  const strangers = new Map<string, number>();
  let strangersInAll = 0;
  /** A look-up that may have missed one of these changes is not kept, and no judge of a request that came after the change. */
  const forgotten = openForgotten();

  function usable(sha256: string): Entry | undefined {
    const queued = known.get(sha256);
    if (queued === undefined) return undefined;
    if (queued.expires !== undefined && queued.expires <= deps.clock()) return undefined;
    const age = now() - queued.readAt;
    if (age >= TTL_MS) return undefined;
    // Should it fail, the answer is good until its time is over; then the requests wait for a look-up and see why.
    if (age >= REFRESH_MS && !lookups.has(sha256)) void shared(sha256).catch(() => undefined);
    // Found by its hash already; compared once more in constant time, so that no index decides alone.
    return timingSafeEqual(queued.digest, Buffer.from(sha256, 'hex')) ? queued : undefined;
  }

  async function lookUp(sha256: string): Promise<Entry | undefined> {
    const before = forgotten.count();
    const readAt = now();
    const credential = await deps.credentials.find(sha256);
    const expired = credential?.expires !== undefined && credential.expires <= deps.clock();
    const made = credential && !expired ? await makeCaller(sha256, credential, deps.principals) : undefined;
    if (credential === undefined || made === undefined) {
      known.delete(sha256);
      return undefined;
    }
    const queued: Entry = { ...made, sha256, digest: Buffer.from(sha256, 'hex'), readAt };
    if (!forgotten.since(before, queued.sources)) known.set(sha256, queued);
    deps.onUse?.(credential.address, credential.uid);
    return queued;
  }

  function begin(sha256: string): Promise<Entry | undefined> {
    const mine: Lookup = {
      before: forgotten.count(),
      found: lookUp(sha256).finally(() => {
        if (lookups.get(sha256) === mine) lookups.delete(sha256);
      }),
    };
    lookups.set(sha256, mine);
    return mine.found;
  }

  /** What the look-up of this credential that is under way finds, or one that `start` begins. */
  async function shared(sha256: string, start = begin): Promise<Entry | undefined> {
    const arrived = forgotten.count();
    // Each look-up that is found here began later than the one before, so the second is new enough.
    for (let lookup = lookups.get(sha256); lookup !== undefined; lookup = lookups.get(sha256)) {
      const { before, found } = lookup;
      const queued = await found;
      if (before >= arrived || (queued !== undefined && !forgotten.since(before, queued.sources))) return queued;
    }
    return start(sha256);
  }

  /** Of a credential that is not known from a use before. Requests that come with it meanwhile take no place of their own. */
  function lookUpStranger(sha256: string, from: string): Promise<Entry | undefined> {
    return shared(sha256, async () => {
      const held = strangers.get(from) ?? 0;
      if (held >= MAX_LOOKUPS_PER_ADDRESS || strangersInAll >= MAX_LOOKUPS) {
        throw refuse('Unavailable', 'too many unknown keys at once', { retryAfterSeconds: 1 });
      }
      strangers.set(from, held + 1);
      strangersInAll += 1;
      try {
        return await begin(sha256);
      } finally {
        strangersInAll -= 1;
        const left = (strangers.get(from) ?? 1) - 1;
        if (left > 0) strangers.set(from, left);
        else strangers.delete(from);
      }
    });
  }

  async function again(sha256: string): Promise<Identity> {
    const found = usable(sha256) ?? (await shared(sha256));
    if (found === undefined) throw refuse('Unauthorized', BAD_KEY);
    return found;
  }

  return {
    known(header) {
      const sha256 = bearerHash(header);
      return sha256 === undefined ? undefined : usable(sha256);
    },
    wasKnown(header) {
      const sha256 = bearerHash(header);
      return sha256 !== undefined && known.has(sha256);
    },
    async authenticate(header, from) {
      const sha256 = bearerHash(header);
      if (sha256 === undefined) {
        addresses.demand(from);
        const message =
          header === undefined ? 'no API key was sent' : 'the Authorization header holds no bearer credential';
        throw refuse('Unauthorized', message, { fix: 'Send the header "Authorization: Bearer <API key>".' });
      }
      if (known.has(sha256)) return again(sha256);
      addresses.demand(from);
      const found = await lookUpStranger(sha256, from);
      if (found === undefined) throw refuse('Unauthorized', BAD_KEY);
      addresses.giveBack(from);
      return found;
    },
    again,
    isCurrent: (identity) => known.peek(identity.sha256) === identity && usable(identity.sha256) !== undefined,
    forget(address) {
      const key = addressKey(address);
      forgotten.add(key);
      // A change of a member is rare and the cache is small: a walk beats an index that every caller pays for.
      for (const queued of known.values()) if (queued.sources.includes(key)) queued.readAt = -Infinity;
    },
    forgetAll() {
      forgotten.addAll();
      for (const queued of known.values()) queued.readAt = -Infinity;
    },
  };
}
