/**
 * Owns reading the bearer credential from a header and hashing it. The value itself goes no further than this file:
 * everything behind it knows the SHA-256 only (I11).
 */
import { createHash, hash } from 'node:crypto';

const PREFIX = 'bearer ';
/** Ours have 47 characters; anything much longer is not a key and is not worth hashing. */
const MAX_CREDENTIAL = 512;

/** Hex SHA-256 of the credential in an `Authorization` header, or undefined when there is no bearer credential in it. */
export function bearerHash(header: string | undefined): string | undefined {
  if (header === undefined || header.length <= PREFIX.length || header.length > MAX_CREDENTIAL) return undefined;
  if (header.slice(0, PREFIX.length).toLowerCase() !== PREFIX) return undefined;
  return sha256(header.slice(PREFIX.length).trim());
}

/** `crypto.hash` is three times as fast as a Hash object for so short a text; Node 20.12 and up have it. */
const sha256: (text: string) => string =
  typeof hash === 'function'
    ? (text) => hash('sha256', text, 'hex')
    : (text) => createHash('sha256').update(text).digest('hex');
