/**
 * Owns public keys for SSH, as a line of OpenSSH's `authorized_keys` without options. Source: decisions, "Small points".
 * Keys on security tokens (`sk-…`) and certificates are refused here, since the SSH door could not let their holders in.
 */
import { createPublicKey } from 'node:crypto';
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
  if (!TYPES.has(type) || !/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return false;
  if (/\p{Cc}/u.test(comment.join(' '))) return false;
  const blob = Buffer.from(text, 'base64');
  if (blob.length < 4 + type.length + 4) return false;
  if (blob.readUInt32BE(0) !== type.length || blob.toString('latin1', 4, 4 + type.length) !== type) return false;
  return readSshKey(`${type} ${text}`) !== undefined;
}

/** As the SSH door uses it: numbers of the length that they say, points on their curve. Undefined: nothing was ever signed with it. */
export function readSshKey(line: string): ParsedKey | undefined {
  try {
    const key = ssh2.utils.parseKey(line);
    if (key instanceof Error) return undefined;
    const { asymmetricKeyDetails: details } = createPublicKey(key.getPublicPEM());
    return (details?.modulusLength ?? SHORTEST_RSA) < SHORTEST_RSA ? undefined : key;
  } catch {
    // The parser throws at some of what cannot be, and answers with an error at the rest.
    return undefined;
  }
}
