/**
 * What the browser finds that comes back from the processor: it settles, and says once where the customer wants it to go.
 * I10: a page asks the processor once in PAUSE_MS, however often it is loaded; the last REMEMBERED pages are known.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Purchases, StoredPurchase } from '../../storage/payments/purchases.js';
import type { MessageRouter } from '../message-router.js';
import type { Landing, Payments } from './service.js';
import type { Settle } from './settlements.js';
import { atMost } from '../../src/lru-bound.js';

const PAUSE_MS = 2_000;
const REMEMBERED = 10_000;
const UID = /^[0-9a-f-]{36}$/;

export function openLanding(
  purchases: Pick<Purchases, 'find'>,
  settle: Settle,
  send: MessageRouter['send'],
): Payments['landing'] {
  const find = async (uid: string, token: string): Promise<StoredPurchase | undefined> => {
    const found = UID.test(uid) ? await purchases.find(uid) : undefined;
    return found !== undefined && isEqual(found.kept.token, token) ? found : undefined;
  };
  const asked = new LRUCache<string, true>({ ...atMost(REMEMBERED), ttl: PAUSE_MS });
  return async (uid, token, way, signal) => {
    const before = await find(uid, token);
    if (before === undefined || way === 'Cancelled') return before && { ...viewOf(before), redirect: before.cancelURL };
    // One that has ended changes only at the processor, which tells of it: its page asks nobody, however often it is loaded.
    const hasEnded = before.phase === 'Succeeded' || before.phase === 'Failed';
    if (!hasEnded && !asked.has(uid)) {
      asked.set(uid, true);
      await settle(before, signal);
    }
    const found = (await find(uid, token)) ?? before;
    const isPaying = found.phase === 'Succeeded' || found.kept.paid !== undefined || found.reason === 'PaymentPending';
    const { successURL } = found.kept;
    if (!isPaying || successURL === undefined) return viewOf(found);
    const address = { org: found.org, kind: 'TopUp', project: '', name: found.name };
    // A browser that comes twice in one moment may be sent twice, to the same page.
    await send(address, uid, { type: 'BrowserSent' });
    return { ...viewOf(found), redirect: successURL };
  };
}

function viewOf({ name, amountUSD, phase, reason, kept, ...urls }: StoredPurchase): Landing {
  const { checkoutURL, receiptURL, invoiceURL } = urls;
  return { name, amountUSD, phase, reason, paid: kept.paid !== undefined, checkoutURL, receiptURL, invoiceURL };
}

/** In constant time, whatever the lengths. */
function isEqual(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
