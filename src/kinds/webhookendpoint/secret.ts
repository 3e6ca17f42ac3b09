/** How a signing secret is made and shown: 32 random bytes behind `whsec_`. Source: spec, "Signature". Pure (I9). */

const PREFIX = 'whsec_';
/** As long as what HMAC-SHA256 makes of it. */
const SECRET_BYTES = 32;

/** Under which the bytes lie in their envelope. */
export const SECRET_KEY = 'key';

export interface SigningSecret {
  /** Shown once. */
  readonly text: string;
  readonly bytes: Uint8Array;
}

export function makeSecret(randomBytes: (length: number) => Uint8Array): SigningSecret {
  const bytes = randomBytes(SECRET_BYTES);
  return { text: PREFIX + Buffer.from(bytes).toString('base64'), bytes };
}
