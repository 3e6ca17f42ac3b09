/**
 * Signs a delivery as Standard Webhooks has it: HMAC-SHA256 over id, time and body, one signature per
 * secret that is in force. Pure. Source: spec, "Signature".
 */
import { createHmac } from 'node:crypto';

export interface SignedHeaders {
  readonly 'webhook-id': string;
  /** Unix seconds. */
  readonly 'webhook-timestamp': string;
  /** `v1,<base64>`, separated by blanks. */
  readonly 'webhook-signature': string;
}

/** `keys`: the bytes behind `whsec_`, the newest first. `now` in ms. */
export function sign(id: string, now: number, body: string | Uint8Array, keys: readonly Uint8Array[]): SignedHeaders {
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
