/**
 * Checks the signature of a webhook, `t=<seconds>,v1=<hex>[,v1=<hex>]…`: HMAC-SHA256 of `<seconds>.<body>` over the bytes as they came. The
 * package's own check looks at the age only, so that a date in the future passes for as long as it takes to become old. Pure.
 * I10: a header of MOST_HEADER characters and MOST_SIGNATURES signatures.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const MOST_HEADER = 4_096;
const MOST_SIGNATURES = 16;
/** Stripe signs each try anew, so only clocks and the way lie between. */
export const OLDEST_MS = 300_000;
export const NEWEST_MS = 60_000;

export type SignatureOutcome =
  | { readonly outcome: 'Genuine' }
  | { readonly outcome: 'Refused'; readonly message: string };

/** `secrets`: the webhook is genuine when one of them has signed it. `now` in ms. */
export function checkSignature(
  body: Buffer,
  header: string | undefined,
  secrets: readonly string[],
  now: number,
): SignatureOutcome {
  if (secrets.length === 0) return refused('no signing secret is set');
  const signed = parseHeader(header);
  if (signed === undefined) return refused('the header Stripe-Signature is missing or unreadable');
  const isGenuine = secrets
    .map((secret) => createHmac('sha256', secret).update(`${signed.seconds}.`).update(body).digest())
    // All are compared, so that the time says nothing of which one it was.
    .map((expected) => signed.signatures.map((signature) => timingSafeEqual(signature, expected)).includes(true))
    .includes(true);
  if (!isGenuine) return refused('the signature is not of this body and any signing secret');
  const age = now - Number(signed.seconds) * 1_000;
  if (age > OLDEST_MS) return refused(`the signature is older than ${OLDEST_MS / 1_000} s`);
  if (-age > NEWEST_MS) return refused(`the signature is more than ${NEWEST_MS / 1_000} s in the future`);
  return { outcome: 'Genuine' };
}

interface Signed {
  /** As written: they are part of what was signed. */
  readonly seconds: string;
  /** 32 bytes each. */
  readonly signatures: readonly Buffer[];
}

/** Undefined: not exactly one time, or no signature of the scheme v1. */
function parseHeader(header: string | undefined): Signed | undefined {
  if (header === undefined || header.length > MOST_HEADER) return undefined;
  const items = header.split(',').map((item) => item.trim());
  const times = items.filter((item) => item.startsWith('t='));
  const signatures = items
    .flatMap((item) => /^v1=([0-9a-f]{64})$/.exec(item)?.[1] ?? [])
    .map((hex) => Buffer.from(hex, 'hex'));
  const seconds = /^t=(\d{1,12})$/.exec(times[0] ?? '')?.[1];
  if (times.length !== 1 || seconds === undefined) return undefined;
  return signatures.length === 0 || signatures.length > MOST_SIGNATURES ? undefined : { seconds, signatures };
}

function refused(message: string): SignatureOutcome {
  return { outcome: 'Refused', message };
}
