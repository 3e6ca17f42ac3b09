/**
 * Reads the bearer credential from a header and hashes it. The value itself goes no further than this file:
 * everything behind it knows the SHA-256 only (I11).
 */
import { sha256 } from '../../src/api/sha256.js';

const PREFIX = 'bearer ';
/** Ours have 47 characters; anything much longer is not a key and is not worth hashing. */
const MAX_CREDENTIAL = 512;

/** Hex SHA-256 of the credential in an `Authorization` header, or undefined when there is no bearer credential in it. */
export function bearerHash(header: string | undefined): string | undefined {
  if (header === undefined || header.length <= PREFIX.length || header.length > MAX_CREDENTIAL) return undefined;
  if (header.slice(0, PREFIX.length).toLowerCase() !== PREFIX) return undefined;
  return sha256(header.slice(PREFIX.length).trim());
}
