/**
 * A public key for SSH, as a line of OpenSSH's `authorized_keys` without options. Source: decisions, "Small points".
 * Keys on security tokens (`sk-…`) and certificates are refused here, since the SSH server could not let their holders in.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import ssh2, { type ParsedKey } from 'ssh2';
import { z } from 'zod';

const TYPES: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
]);

/** Bits: shorter ones are found out. */
const SHORTEST_RSA = 2_048;

const LONGEST_RSA = 16_384;
/** Longer ones make every check of a signature slow, and OpenSSH refuses them. */
const LONGEST_EXPONENT = 64;

const CURVES = [
  { name: 'nistp256', crv: 'P-256', bytes: 32 },
  { name: 'nistp384', crv: 'P-384', bytes: 48 },
  { name: 'nistp521', crv: 'P-521', bytes: 66 },
] as const;

/** The type and at most two values. */
const MOST_FIELDS = 3;
const NOTHING = Buffer.alloc(0);

/** An RSA key of 16384 bits has about 2,800 characters. */
const LONGEST = 8192;

const EXAMPLE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.org';

export const sshPublicKey = z
  .string()
  .max(LONGEST)
  .refine(isPublicKey, 'must be an OpenSSH public key: its type, its base64 text, and perhaps a comment')
  .meta({ description: 'OpenSSH public key.', example: EXAMPLE });

/** The base64 text repeats the type, so a cut or mixed-up line is seen. */
function isPublicKey(line: string): boolean {
  const [type = '', text = '', ...comment] = line.split(' ');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return false;
  return !/\p{Cc}/u.test(comment.join(' ')) && readSshKey(`${type} ${text}`) !== undefined;
}

/** As the SSH server uses it: numbers of the length that they say, points on their curve. Undefined: nothing was ever signed with it. */
export function readSshKey(line: string): ParsedKey | undefined {
  const [type = '', text = ''] = line.split(' ');
  if (!isSound(type, Buffer.from(text, 'base64'))) return undefined;
  const key = ssh2.utils.parseKey(`${type} ${text}`);
  return key instanceof Error ? undefined : key;
}

/**
 * Whether the blob is a key of this type (RFC 4253, 6.6; RFC 5656, 3.1; RFC 8709, 4). Its numbers are checked here and by OpenSSL as a JSON
 * Web Key before anything makes a PEM of them: Node ends the process when it is asked about a PEM whose curve or point does not exist.
 */
function isSound(type: string, blob: Buffer): boolean {
  const [stated, ...fields] = readFields(blob);
  if (!TYPES.has(type) || stated?.toString('latin1') !== type) return false;
  const jwk = jwkOf(type, fields);
  if (jwk === undefined) return false;
  try {
    createPublicKey({ key: jwk, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

function jwkOf(type: string, fields: readonly Buffer[]): JsonWebKey | undefined {
  const [first = NOTHING, second = NOTHING] = fields;
  if (fields.length !== (type === 'ssh-ed25519' ? 1 : 2)) return undefined;
  if (type === 'ssh-ed25519')
    return first.length === 32 ? { kty: 'OKP', crv: 'Ed25519', x: encoded(first) } : undefined;
  if (type === 'ssh-rsa') {
    const bits = bitsOf(second);
    const odd = ((first.at(-1) ?? 0) & 1) === 1 && ((second.at(-1) ?? 0) & 1) === 1;
    if (!odd || bits < SHORTEST_RSA || bits > LONGEST_RSA || bitsOf(first) > LONGEST_EXPONENT) return undefined;
    return { kty: 'RSA', e: encoded(first), n: encoded(second) };
  }
  const curve = CURVES.find(({ name }) => type === `ecdsa-sha2-${name}`);
  if (curve === undefined || first.toString('latin1') !== curve.name) return undefined;
  // Uncompressed: 4, x, y.
  if (second[0] !== 4 || second.length !== 1 + 2 * curve.bytes) return undefined;
  const [x, y] = [second.subarray(1, 1 + curve.bytes), second.subarray(1 + curve.bytes)];
  return { kty: 'EC', crv: curve.crv, x: encoded(x), y: encoded(y) };
}

/** Each with its length before it; nothing when one is longer than what is there. */
function readFields(blob: Buffer): readonly Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < blob.length;) {
    const end = at + 4 <= blob.length ? at + 4 + blob.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > blob.length || fields.length === MOST_FIELDS) return [];
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/** Of a positive number; 0 for a negative one, whose first bit is set. */
function bitsOf(number: Buffer): number {
  const from = number.findIndex((byte) => byte !== 0);
  if (from < 0 || ((number[0] ?? 0) & 0x80) !== 0) return 0;
  return (number.length - from) * 8 - Math.clz32(number[from] ?? 0) + 24;
}

function encoded(bytes: Buffer): string {
  return bytes.toString('base64url');
}
