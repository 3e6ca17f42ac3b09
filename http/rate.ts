/**
 * How many requests a key and an org may send: a token bucket each. A quiet one saves up BURST_SECONDS of its rate,
 * so that a script's sudden hundred lists are no offence, and a loop that runs wild is.
 *
 * I10: at most MAX_BUCKETS of each kind are remembered; the least recently used go, and come back full.
 */
import { LRUCache } from 'lru-cache';
import { refuse } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';
import { atMost } from '../src/lru-bound.js';

/** How long a rate may be saved up. */
const BURST_SECONDS = 10;
/** About 200 bytes each. */
const MAX_BUCKETS = 20_000;

export interface Rates {
  /** Takes one request of the caller; false when nothing is left, and then nothing is taken. */
  take(caller: Caller): boolean;
  /** Takes one request of the caller, or refuses with TooManyRequests. */
  demand(caller: Caller): void;
}

export interface RateSettings {
  /** Requests a second, of one credential and of one org. */
  readonly key: number;
  readonly org: number;
}

interface Bucket {
  tokens: number;
  /** Monotonic ms at which `tokens` was true. */
  at: number;
}

/** Both buckets of a caller: looked up once per kept caller, not once per request. */
interface Pair {
  readonly key: Bucket;
  readonly org: Bucket;
}

export function openRates(settings: RateSettings, now: () => number = () => performance.now()): Rates {
  const keys = new LRUCache<string, Bucket>(atMost(MAX_BUCKETS));
  const orgs = new LRUCache<string, Bucket>(atMost(MAX_BUCKETS));
  const pairs = new WeakMap<Caller, Pair>();

  function bucketOf(buckets: LRUCache<string, Bucket>, id: string, rate: number): Bucket {
    const known = buckets.get(id);
    if (known !== undefined) return known;
    const fresh = { tokens: rate * BURST_SECONDS, at: now() };
    buckets.set(id, fresh);
    return fresh;
  }

  function pairOf(caller: Caller): Pair {
    const known = pairs.get(caller);
    if (known !== undefined) return known;
    const { org, holder } = caller;
    const pair = {
      key: bucketOf(keys, `${org}/${holder}`, settings.key),
      org: bucketOf(orgs, org, settings.org),
    };
    pairs.set(caller, pair);
    return pair;
  }

  function refill(bucket: Bucket, rate: number, at: number): number {
    bucket.tokens = Math.min(rate * BURST_SECONDS, bucket.tokens + ((at - bucket.at) / 1_000) * rate);
    bucket.at = at;
    return bucket.tokens;
  }

  function take(caller: Caller): 'taken' | 'key' | 'org' {
    const { key, org } = pairOf(caller);
    const at = now();
    if (refill(key, settings.key, at) < 1) return 'key';
    if (refill(org, settings.org, at) < 1) return 'org';
    key.tokens -= 1;
    org.tokens -= 1;
    return 'taken';
  }

  return {
    take: (caller) => take(caller) === 'taken',
    demand(caller) {
      const outcome = take(caller);
      if (outcome === 'taken') return;
      const [who, rate, setting] =
        outcome === 'key'
          ? ['this credential', settings.key, 'TROUPE_KEY_REQUESTS_PER_SECOND']
          : ['this org', settings.org, 'TROUPE_ORG_REQUESTS_PER_SECOND'];
      throw refuse('TooManyRequests', `${who} sends more than ${rate} requests a second`, {
        retryAfterSeconds: Math.ceil(1 / rate),
        fix: `Send fewer requests: watch instead of polling, list instead of reading one by one. The operator's setting is ${setting}.`,
      });
    },
  };
}
