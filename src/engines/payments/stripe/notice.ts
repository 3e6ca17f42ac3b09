/**
 * Reads a webhook of Stripe: whether it is genuine, and which purchases it is about. How they stand is read anew, so
 * repeats, losses and any order of webhooks mean nothing.
 */
import type { Notice, Unreachable } from '../processor.js';
import type { Ask } from './client.js';
import { fieldsOf, subjectOf } from './event.js';
import type { Owners } from './owners.js';
import { checkSignature } from './signature.js';

export interface NoticeOptions {
  readonly deployment: string;
  readonly webhookSecrets: readonly string[];
  /** Whether the key moves real money; events of the other mode are refused. */
  readonly live: boolean;
}

/** `now` in ms. */
export async function readNotice(
  ask: Ask,
  owners: Owners,
  { body, signature, now }: { readonly body: Buffer; readonly signature: string | undefined; readonly now: number },
  { deployment, webhookSecrets, live }: NoticeOptions,
): Promise<Notice | Unreachable> {
  const checked = checkSignature(body, signature, webhookSecrets, now);
  if (checked.outcome === 'Refused') return checked;
  const event = parse(body);
  if (fieldsOf(event)['object'] !== 'event') return { outcome: 'Refused', message: 'the body is no event' };
  if (fieldsOf(event)['livemode'] !== live) {
    const modes = live
      ? 'the key is of the live mode, and the event is not'
      : 'the key is of a test mode, and the event is not';
    return { outcome: 'Refused', message: modes };
  }
  const found = await owners.find(ask, [subjectOf(event, deployment)]);
  if (found.outcome === 'Unreachable') return found;
  const { purchases } = found;
  return purchases.length === 0 ? { outcome: 'Ignored' } : { outcome: 'Changed', purchases };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
