/**
 * A master key: 32 bytes, an id that may be shown, and the keys derived from it. Where keys come from is
 * in `key-file.ts`; what is sealed with them in `values.ts` and `bytes.ts`.
 *
 * Several keys can be readable at once (the current one and earlier ones), so that a key is rotated without a stop:
 * everything new is sealed with the current key, and every sealed thing names the key that opens it.
 * I11: a key's bytes are in no error and no log; the id is a hash.
 */
import { createHash, hkdfSync } from 'node:crypto';

export const MASTER_KEY_BYTES = 32;
/** Bytes of a key's id within a sealed thing. 8 are enough to tell a handful of keys apart. */
export const KEY_ID_BYTES = 8;

export interface MasterKey {
  /** 16 hex characters; safe to show. */
  readonly id: string;
  readonly idBytes: Buffer;
  /** Wraps the data keys of secret versions, and nothing else. */
  readonly wrapKey: Buffer;
  /** Makes the tokens of attempts, and nothing else. */
  readonly tokenKey: Buffer;
  /** Makes the tags of estimates, and nothing else. */
  readonly priceKey: Buffer;
  /** Input to the derivation of response keys, and nothing else. */
  readonly bytesRoot: Buffer;
}

export interface MasterKeys {
  readonly current: MasterKey;
  /** By id; holds the current key too. */
  readonly readable: ReadonlyMap<string, MasterKey>;
}

export function deriveKey(secret: Uint8Array, salt: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, `troupe/${purpose}`, 32));
}

export function masterKey(bytes: Uint8Array): MasterKey {
  if (bytes.length !== MASTER_KEY_BYTES) {
    throw new Error(`a master key has ${MASTER_KEY_BYTES} bytes, this one has ${bytes.length}`);
  }
  const idBytes = createHash('sha256').update('troupe/master-key-id').update(bytes).digest().subarray(0, KEY_ID_BYTES);
  const none = Buffer.alloc(0);
  return {
    id: idBytes.toString('hex'),
    idBytes,
    wrapKey: deriveKey(bytes, none, 'wrap'),
    tokenKey: deriveKey(bytes, none, 'attempt-tokens'),
    priceKey: deriveKey(bytes, none, 'price-tags'),
    bytesRoot: deriveKey(bytes, none, 'bytes'),
  };
}

/** The first key seals; all of them open. */
export function masterKeys(current: MasterKey, previous: readonly MasterKey[] = []): MasterKeys {
  return { current, readable: new Map([current, ...previous].map((key) => [key.id, key])) };
}
