/**
 * Bounds what one client address may send without a key that is known: requests without any, with a made-up one, and for
 * the documents that need none. A token bucket for each address; a quiet address saves up BURST_SECONDS of its rate.
 * Requests with a known key never count here, and health never does.
 *
 * I10: at most MAX_BUCKETS addresses are remembered (about 200 bytes each); the least recently seen go, and come back full.
 */
import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { refuse } from '../../src/api/refusal.js';
import { atMost } from '../../src/lru-bound.js';

const BURST_SECONDS = 10;
const MAX_BUCKETS = 20_000;

export interface Addresses {
  /** Takes one request of the address, or refuses with TooManyRequests. */
  demand(address: string): void;
  /** It turned out to have a good key. */
  giveBack(address: string): void;
  /** Whether `demand` would refuse. Takes nothing. */
  isSpent(address: string): boolean;
}

interface Bucket {
  tokens: number;
  /** Monotonic ms at which `tokens` was true. */
  at: number;
}

/** `rate`: requests a second. */
export function openAddresses(rate: number, now: () => number = () => performance.now()): Addresses {
  const buckets = new LRUCache<string, Bucket>(atMost(MAX_BUCKETS));
  const full = rate * BURST_SECONDS;

  /** Refilled; undefined: the address has sent nothing that counts. */
  function find(address: string): Bucket | undefined {
    const bucket = buckets.get(networkOf(address));
    if (bucket === undefined) return undefined;
    const at = now();
    bucket.tokens = Math.min(full, bucket.tokens + ((at - bucket.at) / 1_000) * rate);
    bucket.at = at;
    return bucket;
  }

  return {
    demand(address) {
      let bucket = find(address);
      if (bucket === undefined) {
        bucket = { tokens: full, at: now() };
        buckets.set(networkOf(address), bucket);
      }
      if (bucket.tokens < 1) {
        throw refuse('TooManyRequests', `this address sends more than ${rate} requests a second without a known key`, {
          retryAfterSeconds: Math.ceil(1 / rate),
          fix: `Send a valid API key. The operator's setting is TROUPE_ADDRESS_REQUESTS_PER_SECOND.`,
        });
      }
      bucket.tokens -= 1;
    },
    giveBack(address) {
      const bucket = find(address);
      if (bucket !== undefined) bucket.tokens = Math.min(full, bucket.tokens + 1);
    },
    // Asked for every request, and most services never have a bucket.
    isSpent: (address) => buckets.size > 0 && (find(address)?.tokens ?? full) < 1,
  };
}

/** One client has a whole /64 of IPv6 addresses. */
export function networkOf(address: string): string {
  // The colon tells IPv4 apart for a tenth of what the pattern of `isIPv6` costs.
  if (!address.includes(':') || address.startsWith('::ffff:') || !isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (tail !== undefined && groups.length < 8 - behind) groups.push('0');
  return `${groups.slice(0, 4).join(':')}::/64`;
}
