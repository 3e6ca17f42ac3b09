/**
 * The tokens of attempts: the holder of one is the work of this uid at this epoch. A token is derived from the master key and not
 * stored, so a repeated start gives the same one, and a start costs no row. The reader of the Attempt checks that the epoch is the
 * current one.
 *
 * Form: prefix, then base64url of 32 bytes HMAC-SHA-256 and the work's id. Opaque to its holder (I11: never logged).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { KEY_PREFIX } from '../../src/brand.js';
import type { MasterKey, MasterKeys } from './master-key.js';

const PREFIX = `${KEY_PREFIX}at_`;
const MAC_BYTES = 32;
const MAX_TOKEN = 256;

export interface AttemptTokens {
  /** Of the work with this id, `<uid>.<epoch>`. */
  issue(work: string): string;
  /** Id of the work that it was issued for; undefined for anything that was not issued. */
  verify(token: string): string | undefined;
}

export function attemptTokens(keys: MasterKeys): AttemptTokens {
  return {
    issue: (work) => PREFIX + Buffer.concat([macOf(keys.current, work), Buffer.from(work)]).toString('base64url'),
    verify(token) {
      if (!token.startsWith(PREFIX) || token.length > MAX_TOKEN) return undefined;
      const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
      if (bytes.length <= MAC_BYTES) return undefined;
      const work = bytes.toString('utf8', MAC_BYTES);
      const mac = bytes.subarray(0, MAC_BYTES);
      // Every key is tried whatever comes of it: which one it was tells nothing.
      const right = [...keys.readable.values()].filter((key) => timingSafeEqual(macOf(key, work), mac));
      return right.length > 0 ? work : undefined;
    },
  };
}

function macOf(key: MasterKey, work: string): Buffer {
  return createHmac('sha256', key.tokenKey).update(work).digest();
}
