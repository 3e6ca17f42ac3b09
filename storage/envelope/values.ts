/**
 * The envelope of one secret version: its values under a data key of its own, the data key wrapped by the master
 * key. A rotation of the master key therefore rewrites 60 bytes per version (`rewrapValues`), not the values.
 *
 * Layout, format 1 (bytes):
 *   1 format · 8 master key id · 12 wrap nonce · 32 wrapped data key · 16 wrap tag · 12 nonce · n values · 16 tag
 * Both AES-256-GCM passes bind format, org, uid and version; the wrap also binds the key id. Nonces are random: each
 * data key seals once, and a master key wraps far fewer than 2^32 versions.
 * I11: values leave this file only as the result of `openValues`.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { bindTo, encryptionFailed } from './binding.js';
import { KEY_ID_BYTES, type MasterKey, type MasterKeys } from './master-key.js';

const FORMAT = 1;
const NONCE = 12;
const TAG = 16;
const DATA_KEY = 32;
const HEADER = 1 + KEY_ID_BYTES;
const WRAP = NONCE + DATA_KEY + TAG;
const SMALLEST = HEADER + WRAP + NONCE + TAG;

/** Readers of every format ever written: a new one is added here, none is removed. */
const READERS: ReadonlyMap<number, typeof openFormat1> = new Map([[1, openFormat1]]);

export function sealValues(
  keys: MasterKeys,
  org: string,
  uid: string,
  version: number,
  values: ReadonlyMap<string, Uint8Array>,
): Buffer {
  const dataKey = randomBytes(DATA_KEY);
  const sealed = seal(dataKey, bindTo(Buffer.of(FORMAT), ['values', org, uid, version]), encodeValues(values));
  return Buffer.concat([wrap(keys.current, dataKey, org, uid, version), sealed]);
}

/** Refuses with EncryptionFailed when it was changed, moved, or sealed by a key that is not at hand. */
export function openValues(
  keys: MasterKeys,
  org: string,
  uid: string,
  version: number,
  sealed: Buffer,
): ReadonlyMap<string, Buffer> {
  const reader = READERS.get(sealed[0] ?? -1);
  if (reader === undefined) {
    throw encryptionFailed(
      `secret version ${version} of ${uid} is in format ${sealed[0] ?? 'none'}, which this program cannot read`,
    );
  }
  return reader(keys, org, uid, version, sealed);
}

/** The same values under the current master key; undefined when they are already. */
export function rewrapValues(
  keys: MasterKeys,
  org: string,
  uid: string,
  version: number,
  sealed: Buffer,
): Buffer | undefined {
  if (sealed[0] === FORMAT && sealed.subarray(1, HEADER).equals(keys.current.idBytes)) return undefined;
  const dataKey = unwrap(keys, org, uid, version, sealed);
  return Buffer.concat([wrap(keys.current, dataKey, org, uid, version), sealed.subarray(HEADER + WRAP)]);
}

function openFormat1(keys: MasterKeys, org: string, uid: string, version: number, sealed: Buffer): Map<string, Buffer> {
  const dataKey = unwrap(keys, org, uid, version, sealed);
  const body = open(dataKey, bindTo(Buffer.of(FORMAT), ['values', org, uid, version]), sealed.subarray(HEADER + WRAP));
  if (body === undefined)
    throw encryptionFailed(
      `the values of secret version ${version} of ${uid} do not open: they were changed or belong elsewhere`,
    );
  return decodeValues(body);
}

function wrap(key: MasterKey, dataKey: Buffer, org: string, uid: string, version: number): Buffer {
  const header = Buffer.concat([Buffer.of(FORMAT), key.idBytes]);
  return Buffer.concat([header, seal(key.wrapKey, bindTo(header, ['wrap', org, uid, version]), dataKey)]);
}

function unwrap(keys: MasterKeys, org: string, uid: string, version: number, sealed: Buffer): Buffer {
  if (sealed.length < SMALLEST) throw encryptionFailed(`secret version ${version} of ${uid} is cut short`);
  const header = sealed.subarray(0, HEADER);
  const id = header.toString('hex', 1);
  const key = keys.readable.get(id);
  if (key === undefined) {
    throw encryptionFailed(
      `secret version ${version} of ${uid} was sealed with master key ${id}, which is not among the readable ones`,
    );
  }
  const dataKey = open(
    key.wrapKey,
    bindTo(header, ['wrap', org, uid, version]),
    sealed.subarray(HEADER, HEADER + WRAP),
  );
  if (dataKey === undefined)
    throw encryptionFailed(
      `the key of secret version ${version} of ${uid} does not open: it was changed or belongs elsewhere`,
    );
  return dataKey;
}

function seal(key: Buffer, bound: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG });
  cipher.setAAD(bound);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, bound: Buffer, sealed: Buffer): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE, sealed.length - TAG)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** count u32, then per value: name length u16, name in UTF-8, value length u32, value. */
function encodeValues(values: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Uint8Array[] = [u32(values.size)];
  for (const [name, value] of values) {
    const text = Buffer.from(name, 'utf8');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(text.length);
    parts.push(length, text, u32(value.length), value);
  }
  return Buffer.concat(parts);
}

function decodeValues(body: Buffer): Map<string, Buffer> {
  const values = new Map<string, Buffer>();
  let at = 4;
  for (let left = body.readUInt32BE(0); left > 0; left -= 1) {
    const nameEnd = at + 2 + body.readUInt16BE(at);
    const name = body.toString('utf8', at + 2, nameEnd);
    const end = nameEnd + 4 + body.readUInt32BE(nameEnd);
    values.set(name, body.subarray(nameEnd + 4, end));
    at = end;
  }
  return values;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
