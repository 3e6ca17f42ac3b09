/**
 * Owns how a bearer credential is made: the value that is shown once, and the hash that is kept.
 * Keys (`src/kinds/apikey`) and ServiceAccount tokens are made the same way. Randomness is an argument (I9).
 */
import { createHash } from 'node:crypto';
import { KEY_PREFIX } from '../../brand.js';

/** 256 bits: 43 characters of base64url. */
const KEY_BYTES = 32;

export interface Bearer {
  /** `svc_` + 43 base64url characters. Never stored, logged or shown again. */
  readonly value: string;
  readonly sha256: string;
}

/** SHA-256 of a bearer value in lower-case hex, under which its credential is stored and found. */
export function bearerHash(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

export function makeBearer(randomBytes: (length: number) => Uint8Array): Bearer {
  const value = KEY_PREFIX + Buffer.from(randomBytes(KEY_BYTES)).toString('base64url');
  return { value, sha256: bearerHash(value) };
}
