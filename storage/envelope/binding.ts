/**
 * The additional data that binds a sealed thing to its place: moved to another org, object, version or purpose, it
 * does not open. Also the one refusal for everything that does not open.
 */
import { refuse, type RefusalError } from '../../src/api/refusal.js';

/** Unambiguous for any strings: JSON quotes what could be mistaken for a separator. */
export function bindTo(header: Uint8Array, parts: readonly (string | number)[]): Buffer {
  return Buffer.concat([header, Buffer.from(JSON.stringify(parts), 'utf8')]);
}

/** I11: says that it did not open and by which key it was sealed, never what was inside. */
export function encryptionFailed(message: string): RefusalError {
  return refuse('EncryptionFailed', message);
}
