/**
 * The tags of estimates: a client that sends one back with its create agrees to the rate that it was told. A tag holds the rate, with a
 * MAC over it, the org and what was estimated, so that it is good for nothing else; nothing is stored.
 *
 * Form: base64url of 32 bytes HMAC-SHA-256 and the rate. Opaque to its holder.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { MasterKey, MasterKeys } from './master-key.js';

const MAC_BYTES = 32;
const MAX_TAG = 128;

/** What was estimated: any of it that differs makes another tag. */
export interface Estimated {
  readonly kind: string;
  /** SHA-256 of the spec. */
  readonly spec: string;
  readonly offering: string;
  readonly regionClass: string;
}

export interface PriceTags {
  issue(org: string, estimated: Estimated, rateUSDPerHour: string): string;
  /** The rate that the tag was issued for; undefined: it was issued for something else, or not at all. */
  rateOf(org: string, estimated: Estimated, tag: string): string | undefined;
}

export function priceTags(keys: MasterKeys): PriceTags {
  return {
    issue(org, estimated, rate) {
      return Buffer.concat([macOf(keys.current, org, estimated, rate), Buffer.from(rate)]).toString('base64url');
    },
    rateOf(org, estimated, tag) {
      if (tag.length > MAX_TAG) return undefined;
      const bytes = Buffer.from(tag, 'base64url');
      if (bytes.length <= MAC_BYTES) return undefined;
      const rate = bytes.toString('utf8', MAC_BYTES);
      const mac = bytes.subarray(0, MAC_BYTES);
      // Every key is tried whatever comes of it: which one it was tells nothing.
      const right = [...keys.readable.values()].filter((key) => timingSafeEqual(macOf(key, org, estimated, rate), mac));
      return right.length > 0 ? rate : undefined;
    },
  };
}

function macOf(key: MasterKey, org: string, { kind, spec, offering, regionClass }: Estimated, rate: string): Buffer {
  const parts = JSON.stringify([org, kind, spec, offering, regionClass, rate]);
  return createHmac('sha256', key.priceKey).update(parts).digest();
}
