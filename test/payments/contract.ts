/**
 * The contract of `PaymentProcessor` as one table of cases. A test file opens its processor on a bench, with the payer's side as functions, and
 * registers all cases for it, so that Stripe and the embedded test processor are held to the same words.
 */
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { CHECKOUT_MS, type CheckoutRequest, type PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { PaidPayment, Payment, PaymentSource, Purchase, SavedCard } from '../../src/kinds/topup/payment.js';

/** What payers and banks do. `page`: the id of one. */
export interface BenchPayer {
  /** The card is kept when the page asks for that. */
  pay(page: string, way: 'Card' | 'Bank'): Promise<void>;
  /** A card is declined; the page stays open. */
  decline(page: string): Promise<void>;
  bankPays(page: string): Promise<void>;
  bankRefuses(page: string): Promise<void>;
  /** Of a page that is paid. */
  dispute(page: string): Promise<void>;
  winDispute(page: string): Promise<void>;
  loseDispute(page: string): Promise<void>;
  /** Time passes, and the page ends unpaid. */
  expire(page: string): Promise<void>;
  /** Absent: refunds of this processor cannot fail. */
  failRefund?: ((refund: string) => Promise<void>) | undefined;
  /** The bank declines this card from now on. Absent: saved cards of this processor are never declined. */
  refuseCard?: ((card: SavedCard) => Promise<void>) | undefined;
}

export interface Bench {
  readonly processor: PaymentProcessor;
  readonly payer: BenchPayer;
  /** ms, by the clock of the processor. */
  now(): number;
  close(): Promise<void>;
}

/** What of the table a processor can be tried with. */
export interface Abilities {
  readonly failsRefunds: boolean;
  readonly refusesCards: boolean;
}

interface Case {
  readonly title: string;
  readonly needs?: keyof Abilities;
  readonly run: (t: ExecutionContext, bench: Bench) => Promise<void>;
}

/** Registers the contract with ava, a bench for each case. */
export function testContract(name: string, abilities: Abilities, openBench: () => Promise<Bench>): void {
  for (const { title, needs, run } of CASES) {
    if (needs !== undefined && !abilities[needs]) continue;
    test(`${name}: ${title}`, async (t) => {
      const bench = await openBench();
      t.teardown(() => bench.close());
      await run(t, bench);
    });
  }
}

export const signal = (): AbortSignal => AbortSignal.timeout(30_000);

export function newPurchase(): Purchase {
  return { org: randomUUID(), name: `credits-${randomUUID().slice(0, 8)}`, uid: randomUUID() };
}

export function checkoutOf(bench: Pick<Bench, 'now'>, more: Partial<CheckoutRequest> = {}): CheckoutRequest {
  const purchase = more.purchase ?? newPurchase();
  return {
    ...{
      purchase,
      key: `topup/${purchase.uid}`,
      amountUSD: '25.00',
      expires: bench.now() + CHECKOUT_MS,
      saveCard: false,
    },
    doneURL: `https://troupe.example.com/payments/${purchase.uid}/done?session={CHECKOUT_SESSION_ID}`,
    cancelURL: `https://troupe.example.com/payments/${purchase.uid}/cancelled`,
    ...more,
  };
}

export interface Opened {
  readonly request: CheckoutRequest;
  readonly purchase: Purchase;
  readonly page: string;
  readonly url: string;
  readonly source: PaymentSource;
}

export async function openPage(bench: Bench, more: Partial<CheckoutRequest> = {}): Promise<Opened> {
  const request = checkoutOf(bench, more);
  const opened = await bench.processor.openCheckout(request, signal());
  if (opened.outcome !== 'Opened') throw new Error(`no page was opened: ${JSON.stringify(opened)}`);
  const { id, url } = opened;
  return { request, purchase: request.purchase, page: id, url, source: { type: 'Checkout', id } };
}

type Subject = Pick<Opened, 'purchase' | 'source'> & { readonly request: { readonly amountUSD: string } };

export async function readOf(
  bench: Pick<Bench, 'processor'>,
  { purchase, source, request }: Subject,
): Promise<Payment> {
  const known = await bench.processor.read(purchase, source, request.amountUSD, signal());
  if (known.outcome !== 'Known') throw new Error(`the payment is not known: ${JSON.stringify(known)}`);
  return known.payment;
}

export async function paidOf(bench: Pick<Bench, 'processor'>, subject: Subject): Promise<PaidPayment> {
  const payment = await readOf(bench, subject);
  if (payment.state !== 'Paid') throw new Error(`it is not paid: ${JSON.stringify(payment)}`);
  return payment;
}

export async function paidPage(bench: Bench, more: Partial<CheckoutRequest> = {}): Promise<Opened> {
  const opened = await openPage(bench, more);
  await bench.payer.pay(opened.page, 'Card');
  return opened;
}

/** All that has changed since the cursor. */
export async function collect(
  { processor }: Pick<Bench, 'processor'>,
  cursor: string | undefined,
): Promise<{ readonly uids: ReadonlySet<string>; readonly cursor: string; readonly pages: number }> {
  const uids = new Set<string>();
  let at = cursor;
  for (let pages = 1; pages <= 100; pages += 1) {
    const changes = await processor.changes(at, signal());
    if (changes.outcome !== 'Changes') throw new Error(`no changes were read: ${changes.message}`);
    for (const { uid } of changes.changed) uids.add(uid);
    at = changes.cursor;
    if (!changes.more) return { uids, cursor: at, pages };
  }
  throw new Error('the changes have no end');
}

/** A card that was kept at a page, and the org whose it is: no other one charges it. */
async function savedCard(bench: Bench): Promise<{ readonly card: SavedCard; readonly org: string }> {
  const opened = await paidPage(bench, { saveCard: true });
  const { card } = await paidOf(bench, opened);
  if (card === undefined) throw new Error('the card was not kept');
  return { card, org: opened.purchase.org };
}

async function disputeStates(bench: Bench, opened: Opened): Promise<readonly (readonly [string, string])[]> {
  const { disputes } = await paidOf(bench, opened);
  return disputes.map(({ state, amountUSD }) => [state, amountUSD] as const);
}

const CASES: readonly Case[] = [
  {
    title: 'the processor is reachable, and an ended call is Unreachable',
    async run(t, bench) {
      t.deepEqual(await bench.processor.check(signal()), { outcome: 'Reachable' });
      const ended = AbortSignal.abort();
      t.is((await bench.processor.check(ended)).outcome, 'Unreachable');
      const { purchase, source } = await openPage(bench);
      t.is((await bench.processor.read(purchase, source, '25.00', ended)).outcome, 'Unreachable');
      t.is((await bench.processor.openCheckout(checkoutOf(bench), ended)).outcome, 'Unreachable');
    },
  },
  {
    title: 'one key gets one page however often it comes, also after it is paid, and another key another page',
    async run(t, bench) {
      const request = checkoutOf(bench);
      const first = await bench.processor.openCheckout(request, signal());
      t.deepEqual(await bench.processor.openCheckout(request, signal()), first);
      if (first.outcome !== 'Opened') return t.fail();
      t.true(Math.abs(first.expires - request.expires) < 1_000);
      t.regex(first.url, /^https?:\/\//);
      await bench.payer.pay(first.id, 'Card');
      const again = await bench.processor.openCheckout(request, signal());
      t.is(again.outcome === 'Opened' && again.id, first.id);
      const other = await openPage(bench, { purchase: request.purchase, key: `${request.key}/2` });
      t.not(other.page, first.id);
      t.deepEqual(await readOf(bench, other), { state: 'Open' });
    },
  },
  {
    title: 'a page that nobody pays at is Open, and Expired when its time is over',
    async run(t, bench) {
      const opened = await openPage(bench);
      t.deepEqual(await readOf(bench, opened), { state: 'Open' });
      await bench.payer.expire(opened.page);
      t.deepEqual(await readOf(bench, opened), { state: 'Expired' });
    },
  },
  {
    title: 'a card pays exactly what was asked for, and is not kept unless that was asked for',
    async run(t, bench) {
      const opened = await paidPage(bench, { amountUSD: '12.34' });
      const paid = await paidOf(bench, opened);
      t.is(paid.amountUSD, '12.34');
      t.not(paid.payment, '');
      t.true(Math.abs(paid.time - bench.now()) < 60_000);
      t.regex(paid.method?.last4 ?? '', /^\d{4}$/);
      t.is(paid.card, undefined);
      t.deepEqual([paid.refunds, paid.disputes], [[], []]);
      t.deepEqual(await paidOf(bench, opened), paid, 'it says the same when it is asked again');
    },
  },
  {
    title: 'a declined card leaves the page open, and another one pays',
    async run(t, bench) {
      const opened = await openPage(bench);
      await bench.payer.decline(opened.page);
      t.deepEqual(await readOf(bench, opened), { state: 'Open' });
      await bench.payer.pay(opened.page, 'Card');
      t.is((await paidOf(bench, opened)).amountUSD, '25.00');
    },
  },
  {
    title: 'a payment by bank is Pending until the bank pays',
    async run(t, bench) {
      const opened = await openPage(bench);
      await bench.payer.pay(opened.page, 'Bank');
      t.is((await readOf(bench, opened)).state, 'Pending');
      await bench.payer.bankPays(opened.page);
      t.is((await paidOf(bench, opened)).amountUSD, '25.00');
    },
  },
  {
    title: 'a payment that the bank refuses is Failed, with words for the customer',
    async run(t, bench) {
      const opened = await openPage(bench);
      await bench.payer.pay(opened.page, 'Bank');
      await bench.payer.bankRefuses(opened.page);
      const payment = await readOf(bench, opened);
      t.is(payment.state, 'Failed');
      t.true(payment.state === 'Failed' && payment.message.length > 5);
    },
  },
  {
    title: 'parts are paid back up to what was paid, one key once, and more is refused',
    async run(t, bench) {
      const opened = await paidPage(bench);
      const { purchase, source } = opened;
      const part = { purchase, source, key: `refund/${purchase.uid}/1`, amountUSD: '10.00' };
      const first = await bench.processor.refund(part, signal());
      t.is(first.outcome, 'Refunded');
      t.deepEqual(await bench.processor.refund(part, signal()), first);
      t.deepEqual(
        (await paidOf(bench, opened)).refunds.map(({ amountUSD }) => amountUSD),
        ['10.00'],
        'one key pays back once',
      );
      const more = { ...part, key: `refund/${purchase.uid}/2`, amountUSD: '15.01' };
      t.is((await bench.processor.refund(more, signal())).outcome, 'Refused');
      const rest = { ...part, key: `refund/${purchase.uid}/3`, amountUSD: '15.00' };
      t.is((await bench.processor.refund(rest, signal())).outcome, 'Refunded');
      const { refunds, amountUSD } = await paidOf(bench, opened);
      t.is(amountUSD, '25.00', 'what was paid stays what was paid');
      t.deepEqual(refunds.map((refund) => refund.amountUSD).toSorted(), ['10.00', '15.00']);
      t.true(refunds.every(({ state }) => state !== 'Failed'));
      t.is(new Set(refunds.map(({ id }) => id)).size, 2);
      const late = { ...part, key: `refund/${purchase.uid}/4`, amountUSD: '0.01' };
      t.is((await bench.processor.refund(late, signal())).outcome, 'Refused');
    },
  },
  {
    title: 'the whole payment is paid back, and nothing is paid back of a page that is not paid',
    async run(t, bench) {
      const open = await openPage(bench);
      const ask = {
        purchase: open.purchase,
        source: open.source,
        key: `refund/${open.purchase.uid}`,
        amountUSD: '25.00',
      };
      t.is((await bench.processor.refund(ask, signal())).outcome, 'Refused');
      const opened = await paidPage(bench);
      const { purchase, source } = opened;
      const whole = await bench.processor.refund(
        { purchase, source, key: `refund/${purchase.uid}`, amountUSD: '25.00' },
        signal(),
      );
      const { refunds } = await paidOf(bench, opened);
      t.deepEqual(whole, { outcome: 'Refunded', id: refunds[0]?.id ?? '' });
      t.is(refunds.length, 1);
    },
  },
  {
    title: 'a refund that fails is shown as Failed, and the money can be paid back again',
    needs: 'failsRefunds',
    async run(t, bench) {
      const opened = await paidPage(bench);
      const { purchase, source } = opened;
      const ask = { purchase, source, key: `refund/${purchase.uid}/1`, amountUSD: '25.00' };
      const made = await bench.processor.refund(ask, signal());
      if (made.outcome !== 'Refunded') return t.fail();
      await bench.payer.failRefund?.(made.id);
      t.deepEqual((await paidOf(bench, opened)).refunds, [
        { id: made.id, amountUSD: '25.00', state: 'Failed', key: ask.key },
      ]);
      t.is((await bench.processor.refund({ ...ask, key: `refund/${purchase.uid}/2` }, signal())).outcome, 'Refunded');
      t.is((await paidOf(bench, opened)).refunds.length, 2);
    },
  },
  {
    title: 'a dispute is Open, then Lost, and Won by an appeal; it stays one dispute',
    async run(t, bench) {
      const opened = await paidPage(bench);
      await bench.payer.dispute(opened.page);
      const [first] = (await paidOf(bench, opened)).disputes;
      t.deepEqual(await disputeStates(bench, opened), [['Open', '25.00']]);
      await bench.payer.loseDispute(opened.page);
      t.deepEqual(await disputeStates(bench, opened), [['Lost', '25.00']]);
      await bench.payer.winDispute(opened.page);
      t.deepEqual(await disputeStates(bench, opened), [['Won', '25.00']]);
      t.is((await paidOf(bench, opened)).disputes[0]?.id, first?.id);
    },
  },
  {
    title: 'a dispute that is won leaves the payment paid',
    async run(t, bench) {
      const opened = await paidPage(bench);
      await bench.payer.dispute(opened.page);
      await bench.payer.winDispute(opened.page);
      t.deepEqual(await disputeStates(bench, opened), [['Won', '25.00']]);
    },
  },
  {
    title:
      'a request to charge a saved card that is sent again with its key charges it once, and the charge can be refunded',
    async run(t, bench) {
      const { card, org } = await savedCard(bench);
      t.regex(card.last4, /^\d{4}$/);
      const purchase = { ...newPurchase(), org };
      const ask = { purchase, key: `topup/${purchase.uid}`, amountUSD: '40.00', card };
      const charged = await bench.processor.charge(ask, signal());
      t.deepEqual(await bench.processor.charge(ask, signal()), charged);
      if (charged.outcome !== 'Charged') return t.fail();
      const source = { type: 'Charge', id: charged.payment } as const;
      const subject = { purchase, source, request: { amountUSD: '40.00' } };
      const paid = await paidOf(bench, subject);
      t.deepEqual([paid.amountUSD, paid.payment], ['40.00', charged.payment]);
      t.is(paid.method?.last4, card.last4);
      const refund = { purchase, source, key: `refund/${purchase.uid}`, amountUSD: '40.00' };
      t.is((await bench.processor.refund(refund, signal())).outcome, 'Refunded');
      t.is((await paidOf(bench, subject)).refunds.length, 1);
    },
  },
  {
    title: 'a charge is found again without its key, and one that was never made, or is of another purchase, is Absent',
    async run(t, bench) {
      const { card, org } = await savedCard(bench);
      const since = bench.now() - 3_600_000;
      const askOf = (purchase: Purchase) => ({ purchase, key: `topup/${purchase.uid}`, amountUSD: '40.00', card });
      const asks = [1, 2, 3].map(() => askOf({ ...newPurchase(), org }));
      const [first, second, never] = asks;
      if (first === undefined || second === undefined || never === undefined) return t.fail();
      const charged = [await bench.processor.charge(first, signal()), await bench.processor.charge(second, signal())];
      t.true(charged.every(({ outcome }) => outcome === 'Charged'));
      t.deepEqual(await bench.processor.findCharge(first, since, signal()), charged[0]);
      t.deepEqual(await bench.processor.findCharge(second, since, signal()), charged[1]);
      t.deepEqual(await bench.processor.findCharge(never, since, signal()), { outcome: 'Absent' });
      const source = { type: 'Charge', id: charged[0]?.outcome === 'Charged' ? charged[0].payment : '' } as const;
      await paidOf(bench, { purchase: first.purchase, source, request: { amountUSD: '40.00' } });
    },
  },
  {
    title: 'a card that the bank declines is Declined for good, with words for the customer',
    needs: 'refusesCards',
    async run(t, bench) {
      const { card, org } = await savedCard(bench);
      await bench.payer.refuseCard?.(card);
      const purchase = { ...newPurchase(), org };
      const ask = { purchase, key: `topup/${purchase.uid}`, amountUSD: '40.00', card };
      const declined = await bench.processor.charge(ask, signal());
      t.is(declined.outcome, 'Declined');
      t.true(declined.outcome === 'Declined' && declined.message.length > 5);
      t.deepEqual(await bench.processor.charge(ask, signal()), declined);
    },
  },
  {
    title: 'the id of another purchase is Absent, and nothing of it is paid back',
    async run(t, bench) {
      const opened = await paidPage(bench);
      const { purchase, source } = opened;
      const other = newPurchase();
      for (const wrong of [{ org: other.org }, { name: other.name }, { uid: other.uid }]) {
        const thief = { ...purchase, ...wrong };
        t.deepEqual(await bench.processor.read(thief, source, '25.00', signal()), { outcome: 'Absent' });
        const ask = { purchase: thief, source, key: `refund/${JSON.stringify(wrong)}`, amountUSD: '25.00' };
        t.is((await bench.processor.refund(ask, signal())).outcome, 'Refused');
      }
      for (const type of ['Checkout', 'Charge'] as const) {
        const nothing = { type, id: 'there_is_no_such_thing' };
        t.deepEqual(await bench.processor.read(purchase, nothing, '25.00', signal()), { outcome: 'Absent' });
      }
      t.deepEqual((await paidOf(bench, opened)).refunds, []);
    },
  },
  {
    title: 'the changes name every purchase that something has happened to, from any cursor',
    async run(t, bench) {
      const [card, bank] = [await openPage(bench), await openPage(bench)];
      const [a, b] = [card.purchase.uid, bank.purchase.uid];
      const cursors = [(await collect(bench, undefined)).cursor];
      const next = async (): Promise<void> => void cursors.push((await collect(bench, cursors.at(-1))).cursor);
      await bench.payer.pay(card.page, 'Card');
      await next();
      await bench.payer.pay(bank.page, 'Bank');
      await next();
      await bench.payer.bankPays(bank.page);
      await next();
      const { purchase, source } = card;
      await bench.processor.refund({ purchase, source, key: `refund/${a}`, amountUSD: '1.00' }, signal());
      await next();
      await bench.payer.dispute(bank.page);
      const expected = [[a, b], [a, b], [a, b], [a, b], [b]];
      for (const [index, uids] of expected.entries()) {
        const found = (await collect(bench, cursors[index])).uids;
        for (const uid of uids) t.true(found.has(uid), `${uid === a ? 'card' : 'bank'} from cursor ${index}`);
      }
      const all = (await collect(bench, undefined)).uids;
      t.true(all.has(a) && all.has(b), 'from the beginning');
    },
  },
];
