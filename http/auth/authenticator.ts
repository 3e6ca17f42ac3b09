/**
 * Owns who a request comes from. A credential is looked up by its SHA-256 and what was found is kept, so that a known
 * key costs one hash and one Map look-up per request, without a promise.
 *
 * What makes a kept answer wrong: its key or token ends, its member or ServiceAccount changes or goes, its time is over.
 * The first two arrive through `forget` (called for each committed change of those kinds) and, from another process,
 * after TTL at the latest; the time is looked at on every use.
 *
 * I10: at most MAX_KNOWN callers; the least recently used go. At most MAX_LOOKUPS look-ups run at once (a flood of made-up
 * keys must not take Postgres from the others); one more is 503.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressKey, type Address } from '../../src/api/address.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/stage.js';
import type { CredentialSource } from '../deps.js';
import { bearerHash } from './bearer.js';
import { makeCaller, type KnownCaller, type Principals } from './caller.js';

/** About 1.5 kB each. */
const MAX_KNOWN = 10_000;
/** How long another process's change may go unnoticed, in ms. */
const TTL = 15_000;
const MAX_LOOKUPS = 64;

interface Entry extends KnownCaller {
  readonly digest: Buffer;
}

export interface Authenticator {
  /** The caller, when the credential is known already and good. Costs no wait. */
  known(header: string | undefined): Caller | undefined;
  /** The caller, or Unauthorized. */
  authenticate(header: string | undefined): Promise<Caller>;
  /** The caller behind a credential that was good before, by its SHA-256: as he is now, or Unauthorized. */
  again(sha256: string): Promise<Caller>;
  /** This object has changed or is gone: whoever was read from it is read again. */
  forget(address: Address): void;
  /** Everything may have changed meanwhile: a standby has become the active process. */
  forgetAll(): void;
}

export interface AuthenticatorDeps {
  readonly credentials: CredentialSource;
  readonly principals: Principals;
  readonly clock: () => number;
  /** Called for a use of a credential, at most once per TTL and credential (lastUsedTime is someone else's matter). */
  readonly onUse?: ((address: Address, uid: string) => void) | undefined;
}

const BAD_KEY = 'the API key is not valid';

export function openAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const known = new LRUCache<string, Entry>({ max: MAX_KNOWN, ttl: TTL });
  const lookups = new Map<string, Promise<Entry | undefined>>();
  /** Grows with every `forget`, so that a look-up that began before it is not kept. */
  let forgotten = 0;

  function usable(sha256: string): Caller | undefined {
    const entry = known.get(sha256);
    if (entry === undefined) return undefined;
    if (entry.expires !== undefined && entry.expires <= deps.clock()) return undefined;
    // Found by its hash already; compared once more in constant time, so that no index decides alone.
    return timingSafeEqual(entry.digest, Buffer.from(sha256, 'hex')) ? entry.caller : undefined;
  }

  async function lookUp(sha256: string): Promise<Entry | undefined> {
    const before = forgotten;
    const credential = await deps.credentials.find(sha256);
    if (credential === undefined) return undefined;
    if (credential.expires !== undefined && credential.expires <= deps.clock()) return undefined;
    const made = await makeCaller(sha256, credential, deps.principals);
    if (made === undefined) return undefined;
    const entry: Entry = { ...made, digest: Buffer.from(sha256, 'hex') };
    if (before === forgotten) known.set(sha256, entry);
    deps.onUse?.(credential.address, credential.uid);
    return entry;
  }

  function shared(sha256: string): Promise<Entry | undefined> {
    const running = lookups.get(sha256);
    if (running) return running;
    if (lookups.size >= MAX_LOOKUPS)
      throw refuse('Unavailable', 'too many unknown keys at once', { retryAfterSeconds: 1 });
    const mine = lookUp(sha256).finally(() => lookups.delete(sha256));
    lookups.set(sha256, mine);
    return mine;
  }

  async function again(sha256: string): Promise<Caller> {
    const at = usable(sha256) ?? (await shared(sha256))?.caller;
    if (at === undefined) throw refuse('Unauthorized', BAD_KEY);
    return at;
  }

  return {
    known(header) {
      const sha256 = bearerHash(header);
      return sha256 === undefined ? undefined : usable(sha256);
    },
    async authenticate(header) {
      const sha256 = bearerHash(header);
      if (sha256 === undefined) {
        const message =
          header === undefined ? 'no API key was sent' : 'the Authorization header holds no bearer credential';
        throw refuse('Unauthorized', message, { fix: 'Send the header "Authorization: Bearer <API key>".' });
      }
      return again(sha256);
    },
    again,
    forget(address) {
      forgotten += 1;
      const key = addressKey(address);
      // A change of a member is rare and the cache is small: a walk beats an index that every caller pays for.
      for (const [sha256, entry] of known.entries()) if (entry.sources.includes(key)) known.delete(sha256);
    },
    forgetAll() {
      forgotten += 1;
      known.clear();
    },
  };
}
