/** Makes a key for SSH: ed25519, in OpenSSH's own form. */
import ssh2 from 'ssh2';

/** One in 256 is unusable; so many in a row never are. */
const TRIES = 20;

/**
 * A private key that its own library can read. ssh2 1.17 drops leading zero bytes of the public half, which belong to it: such a key would
 * be kept for good, and SSH would never open.
 */
export function newSshKey(): string {
  for (let tries = 0; tries < TRIES; tries++) {
    const made = ssh2.utils.generateKeyPairSync('ed25519').private;
    if (!(ssh2.utils.parseKey(made) instanceof Error)) return made;
  }
  throw new Error('no usable key was made');
}
