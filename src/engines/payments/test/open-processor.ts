/**
 * The embedded test processor: it keeps the whole contract of a `PaymentProcessor`, and no money moves. Payers pay at its own pages
 * (`desk.ts`). A charge of a saved card is paid at once, but one whose cents are .13 is declined, so that failures can be tried. Refunds
 * succeed at once; they are refused while a dispute is open, and when it was lost, since the payer has the money then.
 */
import { deadline } from '../../../deadline.js';
import { RefusalError } from '../../../api/refusal.js';
import type { PaymentSource, Purchase } from '../../../kinds/topup/payment.js';
import { USD } from '../../../money/usd.js';
import {
  CALL_WITHIN_MS,
  type ChangesOutcome,
  type ChargeOutcome,
  type ChargeRequest,
  type CheckoutOutcome,
  type CheckoutRequest,
  type FindChargeOutcome,
  type PaymentProcessor,
  type ReadOutcome,
  type RefundOutcome,
  type RefundRequest,
  type Unreachable,
} from '../processor.js';
import type { TestDesk } from './desk.js';
import { openDesk } from './open-desk.js';
import type { TestPurchase } from '../../../kinds/topup/test-purchase.js';
import type { TestRows } from './rows.js';
import { paymentOf, paymentOfCard } from './standing.js';

/** Of a page of changes; as many pages expire before each one is read. */
const CHANGES_AT_ONCE = 100;
/** How far back changes go without a cursor (ms). */
const CHANGES_FROM_MS = 24 * 3_600_000;

export interface TestProcessorOptions {
  /** Origin of this service: its pages are below it. */
  readonly base: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
}

export interface TestProcessor {
  readonly processor: PaymentProcessor;
  readonly desk: TestDesk;
}

export function openTestProcessor(rows: TestRows, { base, clock, randomBytes }: TestProcessorOptions): TestProcessor {
  const random = (length: number): string => Buffer.from(randomBytes(length)).toString('base64url');
  const ids = (): Pick<TestPurchase, 'id' | 'payment'> => ({ id: random(32), payment: `test_${random(16)}` });

  async function openCheckout(request: CheckoutRequest): Promise<CheckoutOutcome> {
    const { purchase, key, amountUSD, expires, saveCard, doneURL, cancelURL } = request;
    const created = clock();
    let row = await rows.ofKey(purchase.org, 'Checkout', key);
    if (row === undefined && expires <= created) return { outcome: 'TooLate' };
    row ??= await rows.open({
      ...{ ...ids(), source: 'Checkout', ...purchase, key, amountUSD, created, expires, saveCard, doneURL, cancelURL },
    });
    if (!isSame(row, purchase, amountUSD)) return { outcome: 'Refused', message: OTHER_REQUEST };
    return { outcome: 'Opened', id: row.id, url: `${base}/checkout/${row.id}`, expires: row.expires ?? expires };
  }

  async function charge({ purchase, key, amountUSD, card }: ChargeRequest): Promise<ChargeOutcome> {
    const { org } = purchase;
    let row = await rows.ofKey(org, 'Charge', key);
    if (row === undefined) {
      const saved = await rows.ofPayment(org, paymentOfCard(card) ?? '');
      if (saved?.cardSaved !== true)
        return { outcome: 'Declined', message: 'the test processor does not know this card' };
      if (new USD(amountUSD).billionths % DOLLAR === DECLINED_CENTS)
        return { outcome: 'Declined', message: 'the test card declines amounts that end in .13' };
      const urls = { doneURL: '', cancelURL: '', saveCard: false };
      row = await rows.open({ ...ids(), source: 'Charge', ...purchase, key, amountUSD, created: clock(), ...urls });
    }
    return payOnce(row, purchase, amountUSD);
  }

  async function findCharge({ purchase, key, amountUSD }: ChargeRequest): Promise<FindChargeOutcome> {
    const row = await rows.ofKey(purchase.org, 'Charge', key);
    return row === undefined ? { outcome: 'Absent' } : payOnce(row, purchase, amountUSD);
  }

  async function payOnce(row: TestPurchase, purchase: Purchase, amountUSD: string): Promise<ChargeOutcome> {
    if (!isSame(row, purchase, amountUSD)) return { outcome: 'Declined', message: OTHER_REQUEST };
    // One that is paid stays as it is; one that a crash left unpaid is paid now.
    await rows.pay(row.id, false, clock());
    return { outcome: 'Charged', payment: row.payment };
  }

  async function find(purchase: Purchase, { type, id }: PaymentSource): Promise<TestPurchase | undefined> {
    const row = type === 'Checkout' ? await rows.find(id) : await rows.ofPayment(purchase.org, id);
    const isIts = row?.source === type && row.org === purchase.org && row.uid === purchase.uid;
    return isIts && row.name === purchase.name ? row : undefined;
  }

  async function refund({ purchase, source, key, amountUSD }: RefundRequest): Promise<RefundOutcome> {
    const row = await find(purchase, source);
    if (row === undefined) return refused('the test processor has no such payment');
    if (!new USD(amountUSD).gt(0)) return refused('a refund is of more than zero');
    const made = { id: `test_refund_${random(16)}`, key, amountUSD, time: clock() };
    if (await rows.refund(row.org, row.id, made)) return { outcome: 'Refunded', id: made.id };
    return whyNotRefunded((await rows.find(row.id)) ?? row, key, amountUSD);
  }

  async function read(purchase: Purchase, source: PaymentSource, amountUSD: string): Promise<ReadOutcome> {
    const row = await find(purchase, source);
    if (row === undefined) return { outcome: 'Absent' };
    const payment = paymentOf(row, base, clock());
    if (payment.state !== 'Paid' || new USD(row.amountUSD).eq(amountUSD)) return { outcome: 'Known', payment };
    const message = `${row.amountUSD} USD was paid, and ${amountUSD} USD was asked for`;
    return { outcome: 'Known', payment: { state: 'Mismatch', message } };
  }

  async function changes(cursor: string | undefined): Promise<ChangesOutcome> {
    const now = clock();
    const expired = await rows.expire(now, CHANGES_AT_ONCE);
    // Read before the changes: whatever it counts is among them.
    const last = await rows.lastChange();
    const from = numberOf(cursor, last);
    const since = from === undefined ? now - CHANGES_FROM_MS : 0;
    const found = await rows.changedAfter(from ?? 0, since, CHANGES_AT_ONCE + 1);
    const page = found.slice(0, CHANGES_AT_ONCE);
    const more = found.length > page.length;
    const reached = page.at(-1)?.change ?? 0;
    const cursorAfter = String(more ? reached : Math.max(reached, last));
    const changed = page.map(({ purchase }) => purchase);
    return { outcome: 'Changes', changed, cursor: cursorAfter, more: more || expired === CHANGES_AT_ONCE };
  }

  async function check(): Promise<{ readonly outcome: 'Reachable' }> {
    await rows.lastChange();
    return { outcome: 'Reachable' };
  }

  return {
    desk: openDesk(rows, base, clock),
    processor: {
      name: 'Test',
      openCheckout: (request, signal) => within(signal, () => openCheckout(request)),
      charge: (request, signal) => within(signal, () => charge(request)),
      findCharge: (request, _since, signal) => within(signal, () => findCharge(request)),
      refund: (request, signal) => within(signal, () => refund(request)),
      read: (purchase, source, amountUSD, signal) => within(signal, () => read(purchase, source, amountUSD)),
      changes: (cursor, signal) => within(signal, () => changes(cursor)),
      check: (signal) => within(signal, check),
    },
  };
}

const DOLLAR = new USD(1).billionths;
const DECLINED_CENTS = new USD('0.13').billionths;
const OTHER_REQUEST = 'this key was used for another purchase or amount';

function isSame(row: TestPurchase, { org, name, uid }: Purchase, amountUSD: string): boolean {
  return row.org === org && row.name === name && row.uid === uid && new USD(row.amountUSD).eq(amountUSD);
}

function refused(message: string): RefundOutcome {
  return { outcome: 'Refused', message };
}

/** The row as it was found after the refund had not been taken. */
function whyNotRefunded(row: TestPurchase, key: string, amountUSD: string): RefundOutcome {
  const earlier = row.refunds.find((one) => one.key === key);
  if (earlier !== undefined)
    return new USD(earlier.amountUSD).eq(amountUSD)
      ? { outcome: 'Refunded', id: earlier.id }
      : refused(`this Idempotency-Key has paid back ${earlier.amountUSD} USD before`);
  if (row.state !== 'Paid') return refused('nothing was paid');
  if (row.dispute === 'Open') return refused('the payment is disputed; its bank decides first');
  if (row.dispute === 'Lost') return refused('the payer has the money back: the dispute was lost');
  const left = new USD(row.amountUSD).minus(row.refundedUSD);
  if (left.lt(amountUSD)) return refused(`${left.toFixed()} USD of the payment is left`);
  return refused(`the payment has ${row.refunds.length} refunds, and takes no more`);
}

/** One that this processor did not give counts as none: it was another processor's, or the database is another one. */
function numberOf(cursor: string | undefined, last: number): number | undefined {
  const number = cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined;
  return number !== undefined && number <= last ? number : undefined;
}

/** What Postgres does not answer in time is unknown: it may have been done all the same. */
async function within<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T | Unreachable> {
  const limit = deadline(CALL_WITHIN_MS, signal);
  try {
    const ended = new Promise<Unreachable>((resolve) => {
      const stop = (): void => resolve({ outcome: 'Unreachable', message: 'the database did not answer in time' });
      if (limit.signal.aborted) stop();
      else limit.signal.addEventListener('abort', stop, { once: true });
    });
    return await Promise.race([limit.signal.aborted ? ended : answered(run), ended]);
  } finally {
    limit.clear();
  }
}

async function answered<T>(run: () => Promise<T>): Promise<T | Unreachable> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof RefusalError && error.refusal.code === 'Unavailable')
      return { outcome: 'Unreachable', message: error.refusal.message };
    throw error;
  }
}
