/** The embedded test processor as a `PaymentProcessor`: cases of its own beside the contract that it shares with Stripe. */
import test from 'ava';
import type { SavedCard } from '../../src/kinds/topup/payment.js';
import { openTestProcessor } from '../../src/engines/payments/test/open-processor.js';
import { refuse } from '../../src/api/refusal.js';
import { HOUR, never, openContractBench, openTestBench, PURCHASE, type TestBench } from './bench.js';
import { testContract } from './contract.js';

const BASE = 'https://troupe.test';

testContract('Test', { failsRefunds: false, refusesCards: false }, openContractBench);

/** A page that was paid, by its request and id. */
async function openPaid(bench: TestBench, saveCard = false) {
  const request = bench.request({ saveCard });
  const opened = await bench.processor.openCheckout(request, never);
  if (opened.outcome !== 'Opened') throw new Error(opened.outcome);
  await bench.act(opened.id, 'Pay', saveCard);
  const refund = (key: string, amountUSD: string) =>
    bench.processor.refund({ purchase: PURCHASE, source: { type: 'Checkout', id: opened.id }, key, amountUSD }, never);
  const read = async () => {
    const payment = await bench.read(opened.id, request);
    if (payment.state !== 'Paid') throw new Error(payment.state);
    return payment;
  };
  return { request, id: opened.id, refund, read };
}

test('one key opens one page at once, and after its end', async (t) => {
  const bench = await openTestBench(t);
  const request = bench.request();
  const open = () => bench.processor.openCheckout(request, never);
  const [first, ...others] = await Promise.all([open(), open(), open(), open()]);
  if (first?.outcome !== 'Opened') return t.fail();
  t.regex(first.id, /^[\w-]{43}$/);
  t.is(first.url, `${BASE}/checkout/${first.id}`);
  t.is(first.expires, request.expires);
  for (const other of others) t.deepEqual(other, first);
  bench.pass(2 * HOUR);
  t.deepEqual(await open(), first);
});

test('a key that was used for another amount or TopUp is refused, and another org may have the same one', async (t) => {
  const bench = await openTestBench(t);
  const request = bench.request();
  const opened = await bench.processor.openCheckout(request, never);
  for (const other of [{ amountUSD: '21.00' }, { purchase: { ...PURCHASE, uid: 'uid-other' } }])
    t.is((await bench.processor.openCheckout({ ...request, ...other }, never)).outcome, 'Refused');
  const theirs = { ...request, purchase: { ...PURCHASE, org: 'globex' } };
  const second = await bench.processor.openCheckout(theirs, never);
  t.true(second.outcome === 'Opened' && opened.outcome === 'Opened' && second.id !== opened.id);
});

test('a page that would end at once is not made', async (t) => {
  const bench = await openTestBench(t);
  const request = bench.request({ expires: bench.now() });
  t.deepEqual(await bench.processor.openCheckout(request, never), { outcome: 'TooLate' });
  const { rows } = await bench.postgres.pool.query('SELECT FROM test_purchases');
  t.is(rows.length, 0);
});

test('a payment says what paid it, when, and where its papers are', async (t) => {
  const bench = await openTestBench(t);
  const request = bench.request();
  const opened = await bench.processor.openCheckout(request, never);
  if (opened.outcome !== 'Opened') return t.fail();
  bench.pass(5_000);
  await bench.act(opened.id, 'Pay');
  const payment = await bench.read(opened.id, request);
  if (payment.state !== 'Paid') return t.fail();
  t.regex(payment.payment, /^test_[\w-]{22}$/);
  t.deepEqual(payment, {
    ...{ state: 'Paid', payment: payment.payment, amountUSD: '20.00', time: bench.now() },
    ...{ method: { brand: 'test', last4: '4242' }, card: undefined, refunds: [], disputes: [] },
    ...{ receiptURL: `${opened.url}/receipt`, invoiceURL: `${opened.url}/invoice` },
  });
});

test('a bank that was asked in time pays after the end of the page, and names no card', async (t) => {
  const bench = await openTestBench(t);
  const request = bench.request();
  const id = await bench.open();
  await bench.act(id, 'PayByBank');
  bench.pass(2 * HOUR);
  t.deepEqual(await bench.read(id, request), { state: 'Pending', page: `https://troupe.test/checkout/${id}` });
  await bench.act(id, 'BankPays');
  const payment = await bench.read(id, request);
  t.true(payment.state === 'Paid' && payment.method === undefined);
});

test('a purchase is absent by another source, and a wrong amount is a mismatch', async (t) => {
  const bench = await openTestBench(t);
  const { id, read } = await openPaid(bench);
  const source = { type: 'Checkout', id } as const;
  const { payment } = await read();
  for (const wrong of [
    { type: 'Charge', id } as const,
    { type: 'Charge', id: payment } as const,
    { type: 'Checkout', id: payment } as const,
  ])
    t.deepEqual(await bench.processor.read(PURCHASE, wrong, '20.00', never), { outcome: 'Absent' });
  const known = await bench.processor.read(PURCHASE, source, '25.00', never);
  t.true(known.outcome === 'Known' && known.payment.state === 'Mismatch');
  t.true((await bench.processor.read(PURCHASE, source, '20', never)).outcome === 'Known');
});

test('a key pays back one amount, more than zero, and each refund is a credit note of its time', async (t) => {
  const bench = await openTestBench(t);
  const { refund, id } = await openPaid(bench);
  t.is((await refund('a', '5.50')).outcome, 'Refunded');
  bench.pass(1_000);
  t.is((await refund('a', '6.00')).outcome, 'Refused');
  t.is((await refund('b', '0.00')).outcome, 'Refused');
  t.is((await refund('b', '14.50')).outcome, 'Refunded');
  const notes = (await bench.desk.find(id))?.creditNotes ?? [];
  t.deepEqual(
    notes.map(({ time }) => bench.now() - time),
    [1_000, 0],
  );
});

test('a dispute is of what was not paid back, and nothing is paid back before it is won', async (t) => {
  const bench = await openTestBench(t);
  const { refund, read, id } = await openPaid(bench);
  await refund('a', '5.00');
  await bench.act(id, 'Dispute');
  t.is((await read()).disputes[0]?.amountUSD, '15.00');
  t.is((await refund('b', '1.00')).outcome, 'Refused', 'its bank decides first');
  await bench.act(id, 'LoseDispute');
  t.is((await refund('b', '1.00')).outcome, 'Refused', 'the payer has it already');
  await bench.act(id, 'WinDispute');
  t.is((await refund('b', '15.00')).outcome, 'Refunded');
  t.is((await bench.act(id, 'Dispute')).outcome, 'NotNow', 'a payment is disputed once');
});

test('a card is saved when the payer agrees on a page that asks, and pays again at once unless the cents are .13', async (t) => {
  const bench = await openTestBench(t);
  const unasked = bench.request();
  const page = await bench.processor.openCheckout(unasked, never);
  if (page.outcome !== 'Opened') return t.fail();
  await bench.act(page.id, 'Pay', true);
  const notSaved = await bench.read(page.id, unasked);
  t.true(notSaved.state === 'Paid' && notSaved.card === undefined, 'the page did not ask');

  const { card } = await (await openPaid(bench, true)).read();
  if (card === undefined) return t.fail();
  t.like(card, { brand: 'test', last4: '4242' });
  const again = { org: 'acme', name: 'again', uid: 'uid-again' };
  const request = { purchase: again, key: 'again', amountUSD: '7.00', card };
  const charges = await Promise.all([1, 2, 3].map(() => bench.processor.charge(request, never)));
  const [charged] = charges;
  if (charged?.outcome !== 'Charged') return t.fail();
  for (const other of charges) t.deepEqual(other, charged, 'one key charges once');
  const source = { type: 'Charge', id: charged.payment } as const;
  const known = await bench.processor.read(again, source, '7.00', never);
  if (known.outcome !== 'Known' || known.payment.state !== 'Paid') return t.fail();
  t.is(known.payment.card, undefined);
  const paper = /checkout\/([\w-]{43})\/invoice$/.exec(known.payment.invoiceURL ?? '')?.[1] ?? '';
  t.is((await bench.desk.find(paper))?.invoice, 3, 'no number was left out');
  const charge = (more: { amountUSD?: string; card?: SavedCard; key: string; org?: string }) =>
    bench.processor.charge({ ...request, ...more, purchase: { ...again, org: more.org ?? 'acme' } }, never);
  t.is((await charge({ key: 'd', amountUSD: '7.13' })).outcome, 'Declined');
  t.is((await charge({ key: 'e', amountUSD: '13.00' })).outcome, 'Charged');
  t.is((await charge({ key: 'f', org: 'globex' })).outcome, 'Declined', 'the card of another org');
  t.is((await charge({ key: 'g', card: { ...card, method: 'test_card_other' } })).outcome, 'Declined');
});

test('changes come in order from any cursor, the last state of each once, and expired pages among them', async (t) => {
  const bench = await openTestBench(t);
  const open = async (i: number) => {
    const purchase = { org: 'acme', name: `n${i}`, uid: `u${i}` };
    return { id: await bench.open({ purchase }), purchase };
  };
  const changes = async (cursor?: string) => {
    const page = await bench.processor.changes(cursor, never);
    if (page.outcome !== 'Changes') throw new Error(page.message);
    return { uids: page.changed.map(({ uid }) => uid), cursor: page.cursor, more: page.more };
  };
  const [a, b, c] = [await open(1), await open(2), await open(3)];
  const start = await changes();
  t.deepEqual(start, { uids: [], cursor: '0', more: false }, 'an open page is no change');
  await bench.act(b.id, 'Pay');
  await bench.act(a.id, 'PayByBank');
  const second = await changes(start.cursor);
  t.deepEqual(second.uids, ['u2', 'u1']);
  t.deepEqual(second, { ...(await changes()), more: false }, 'without a cursor: from the beginning, within a day');
  await bench.act(b.id, 'Dispute');
  t.deepEqual((await changes(second.cursor)).uids, ['u2']);
  t.deepEqual((await changes(start.cursor)).uids, ['u1', 'u2'], 'once, with its last change');
  bench.pass(HOUR);
  const third = await changes(second.cursor);
  t.deepEqual(third.uids, ['u2', 'u3']);
  t.is((await bench.desk.find(c.id))?.payment.state, 'Expired');
  t.deepEqual((await changes(third.cursor)).uids, []);
  for (const foreign of ['evt_1', '999', '-1', ''])
    t.deepEqual((await changes(foreign)).uids, ['u1', 'u2', 'u3'], foreign);
  bench.pass(24 * HOUR + 1);
  t.deepEqual((await changes()).uids, [], 'older than a day');
  t.deepEqual((await changes('0')).uids, ['u1', 'u2', 'u3'], 'a cursor of any age');
});

test('more changes than a page holds come in pages, none twice and none left out', async (t) => {
  const bench = await openTestBench(t);
  await Promise.all(
    Array.from({ length: 230 }, (_, i) => bench.open({ purchase: { org: 'acme', name: `n${i}`, uid: `u${i}` } })),
  );
  bench.pass(HOUR);
  const seen: string[] = [];
  for (let cursor = '0', pages = 0, more = true; more; pages++) {
    const page = await bench.processor.changes(cursor, never);
    if (page.outcome !== 'Changes' || pages > 5) return t.fail();
    seen.push(...page.changed.map(({ uid }) => uid));
    ({ cursor, more } = page);
  }
  t.is(seen.length, 230);
  t.is(new Set(seen).size, 230);
});

test('without an answer of the database, or with a signal that is aborted, each call says that nothing is known', async (t) => {
  const bench = await openTestBench(t);
  const gone = () => Promise.reject(refuse('Unavailable', 'storage did not answer'));
  const hung = () => new Promise<never>(() => undefined);
  for (const answer of [gone, hung]) {
    const rows = { ...bench.rows, ofKey: answer, find: answer, ofPayment: answer, expire: answer, lastChange: answer };
    const { processor } = openTestProcessor(rows, {
      base: BASE,
      clock: bench.now,
      randomBytes: () => Buffer.alloc(32),
    });
    const stop = new AbortController();
    const source = { type: 'Checkout', id: 'x' } as const;
    const card = { processor: 'Test', customer: 'c', method: 'm', brand: 'b', last4: '1' } as const;
    const of = { purchase: PURCHASE, key: 'k', amountUSD: '5.00' };
    const calls = [
      processor.openCheckout(bench.request(), stop.signal),
      processor.charge({ ...of, card }, stop.signal),
      processor.refund({ ...of, source }, stop.signal),
      processor.read(PURCHASE, source, '5.00', stop.signal),
      processor.changes(undefined, stop.signal),
      processor.check(stop.signal),
    ];
    if (answer === hung) stop.abort();
    for (const { outcome } of await Promise.all(calls)) t.is(outcome, 'Unreachable');
  }
  t.is((await bench.processor.check(never)).outcome, 'Reachable');
  const aborted = await bench.processor.openCheckout(bench.request({ key: 'aborted' }), AbortSignal.abort());
  t.is(aborted.outcome, 'Unreachable');
  t.is(await bench.rows.ofKey('acme', 'Checkout', 'aborted'), undefined, 'nothing was begun');
});
