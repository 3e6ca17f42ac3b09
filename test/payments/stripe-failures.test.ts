/** Stripe that fails, is slow, cuts its answers or refuses the key: the outcome is open, nothing is done twice, and no message holds a secret. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import type { StripeOptions } from '../../src/engines/payments/stripe/open.js';
import { checkoutOf, newPurchase, openPage, paidOf, paidPage, readOf, signal } from './contract.js';
import { until } from '../e2e/until.js';
import { openStripeBench, type StripeBench } from './support/stripe-bench.js';
import type { Fault } from './support/stripe-server.js';

const SESSIONS = '/v1/checkout/sessions';

async function open(t: ExecutionContext, more: Partial<StripeOptions> = {}): Promise<StripeBench> {
  const bench = await openStripeBench(more);
  t.teardown(() => bench.close());
  return bench;
}

/** After each of them the page may have been made. */
const OPEN_ENDED: readonly Fault[] = [
  'FailAfter',
  'CutAfter',
  'Truncate',
  'Html',
  'FailBefore',
  'RateLimit',
  'Conflict',
];

for (const fault of OPEN_ENDED) {
  test(`${fault}: a page is Unreachable while it lasts, and the same key then gets one page`, async (t) => {
    const bench = await open(t);
    const request = checkoutOf(bench);
    // As often as the package tries.
    bench.server.fail(SESSIONS, fault, 3);
    const failed = await bench.processor.openCheckout(request, signal());
    t.is(failed.outcome, 'Unreachable');
    t.notRegex(JSON.stringify(failed), /sk_test|127\.0\.0\.1|0123456789/);
    let opened = await bench.processor.openCheckout(request, signal());
    // Faults that the package does not try again are still to come.
    for (let tries = 0; tries < 3 && opened.outcome === 'Unreachable'; tries += 1)
      opened = await bench.processor.openCheckout(request, signal());
    t.is(opened.outcome, 'Opened');
    t.is(bench.server.account.sessions.size, 1, 'one page');
    t.is(opened.outcome === 'Opened' && bench.server.account.sessions.has(opened.id), true);
    t.true(bench.server.seen.every(({ key, method }) => method !== 'POST' || key === request.key));
  });
}

test('one failure is passed over by a second try with the same key, also of one that took effect', async (t) => {
  const bench = await open(t);
  bench.server.fail(SESSIONS, 'FailAfter');
  const opened = await openPage(bench);
  t.is(bench.server.account.sessions.size, 1);
  bench.server.fail(SESSIONS, 'CutAfter');
  t.deepEqual(await readOf(bench, opened), { state: 'Open' });
});

test('a refund and a charge whose answers are lost are made once', async (t) => {
  const bench = await open(t);
  const opened = await paidPage(bench, { saveCard: true });
  const { card } = await paidOf(bench, opened);
  if (card === undefined) return t.fail();
  const { account } = bench.server;
  const refund = { purchase: opened.purchase, source: opened.source, key: 'refund/1', amountUSD: '10.00' };
  bench.server.fail('/v1/refunds', 'Truncate');
  t.is((await bench.processor.refund(refund, signal())).outcome, 'Unreachable');
  t.is((await bench.processor.refund(refund, signal())).outcome, 'Refunded');
  t.is(account.refunds.size, 1);
  const purchase = newPurchase();
  const charge = { purchase, key: 'charge/1', amountUSD: '10.00', card };
  bench.server.fail('/v1/payment_intents', 'Truncate');
  const before = account.intents.size;
  t.is((await bench.processor.charge(charge, signal())).outcome, 'Unreachable');
  t.is((await bench.processor.charge(charge, signal())).outcome, 'Charged');
  t.is(account.intents.size, before + 1);
});

test('a failure that Stripe keeps for the key stays open, and the key is never another request', async (t) => {
  const bench = await open(t);
  const request = checkoutOf(bench);
  bench.server.fail(SESSIONS, 'FailForGood');
  for (let tries = 0; tries < 2; tries += 1)
    t.is((await bench.processor.openCheckout(request, signal())).outcome, 'Unreachable');
  const { request: known } = await openPage(bench);
  const other = await bench.processor.openCheckout({ ...known, amountUSD: '99.00' }, signal());
  t.is(other.outcome, 'Unreachable', 'a page may be there, so it is not refused for good');
  t.regex(other.outcome === 'Unreachable' ? other.message : '', /knows this key/);
});

test('a silent Stripe ends the call when its time is over, or when the caller goes, and the request with it', async (t) => {
  const bench = await open(t);
  const opened = await openPage(bench);
  const hasty = bench.also({ withinMs: 1_000 });
  setFlagsFromString('--expose-gc');
  // A deadline that nothing holds would be collected, and the call never end.
  const collecting = setInterval(runInNewContext('gc') as () => void, 100);
  t.teardown(() => clearInterval(collecting));
  bench.server.fail(SESSIONS, 'Hang', 2);
  const begun = performance.now();
  const late = await hasty.read(opened.purchase, opened.source, '25.00', signal());
  t.deepEqual(late, { outcome: 'Unreachable', message: 'Stripe did not answer in time' });
  t.true(performance.now() - begun < 15_000);
  const leaving = new AbortController();
  const patient = bench.also({ withinMs: 20_000 });
  const left = patient.read(opened.purchase, opened.source, '25.00', leaving.signal);
  setImmediate(() => leaving.abort());
  t.is((await left).outcome, 'Unreachable');
  t.true(performance.now() - begun < 19_000);
  await until('no request is left open', () => bench.server.hanging() === 0);
  clearInterval(collecting);
  t.deepEqual(await readOf(bench, opened), { state: 'Open' });
});

test('a refused key is Unreachable, since an operator can mend it, and is repeated nowhere', async (t) => {
  const bench = await open(t);
  const opened = await openPage(bench);
  bench.server.accept('sk_test_another');
  const card = { processor: 'Stripe', customer: 'cus_1', method: 'pm_1', brand: 'visa', last4: '4242' } as const;
  const { purchase, source } = opened;
  const said = await Promise.all([
    bench.processor.check(signal()),
    bench.processor.openCheckout(checkoutOf(bench), signal()),
    bench.processor.charge({ purchase: newPurchase(), key: 'charge/1', amountUSD: '5.00', card }, signal()),
    bench.processor.refund({ purchase, source, key: 'refund/1', amountUSD: '5.00' }, signal()),
    bench.processor.read(purchase, source, '25.00', signal()),
    bench.processor.changes(undefined, signal()),
  ]);
  for (const outcome of said) {
    t.is(outcome.outcome, 'Unreachable');
    t.regex(JSON.stringify(outcome), /refuses the key/);
    t.notRegex(JSON.stringify(outcome), /sk_test|0123456789|Bearer/);
  }
  bench.server.accept();
  t.deepEqual(await bench.processor.check(signal()), { outcome: 'Reachable' });
});

test('nobody listens where Stripe should be', async (t) => {
  const bench = await open(t);
  const nowhere = bench.also({ url: 'http://127.0.0.1:9' });
  const said = await nowhere.check(signal());
  t.deepEqual(said, { outcome: 'Unreachable', message: 'Stripe does not answer (ECONNREFUSED)' });
});

test('an answer of something in between is not taken for Stripe’s: a payment is not Absent because of it', async (t) => {
  const bench = await open(t);
  const opened = await paidPage(bench);
  for (const path of [SESSIONS, '/v1/refunds', '/v1/disputes']) {
    bench.server.fail(path, 'Empty');
    const read = await bench.processor.read(opened.purchase, opened.source, '25.00', signal());
    t.is(read.outcome, 'Unreachable', path);
  }
  bench.server.fail('/v1/events', 'Empty', 2);
  t.is((await bench.processor.changes(undefined, signal())).outcome, 'Unreachable');
  t.is((await bench.processor.check(signal())).outcome, 'Unreachable');
  bench.server.fail('/v1/refunds', 'Empty');
  const refund = { purchase: opened.purchase, source: opened.source, key: 'refund/1', amountUSD: '5.00' };
  t.is((await bench.processor.refund(refund, signal())).outcome, 'Unreachable');
  bench.server.fail('/v1/payment_intents', 'Empty');
  const card = { processor: 'Stripe', customer: 'cus_1', method: 'pm_1', brand: 'visa', last4: '4242' } as const;
  const charge = { purchase: newPurchase(), key: 'charge/1', amountUSD: '5.00', card };
  t.is((await bench.processor.charge(charge, signal())).outcome, 'Unreachable');
  bench.server.fail(SESSIONS, 'Empty');
  t.is((await bench.processor.openCheckout(checkoutOf(bench), signal())).outcome, 'Unreachable');
  t.is((await paidOf(bench, opened)).amountUSD, '25.00');
});

test('an answer of more than 8 MiB is cut', async (t) => {
  const bench = await open(t);
  const opened = await openPage(bench);
  bench.server.fail(SESSIONS, 'Huge');
  const read = await bench.processor.read(opened.purchase, opened.source, '25.00', signal());
  t.is(read.outcome, 'Unreachable');
  t.deepEqual(await readOf(bench, opened), { state: 'Open' });
});

test('a page of changes is read again when a payment in it could not be looked up', async (t) => {
  const bench = await open(t);
  const opened = await paidPage(bench);
  bench.server.dispute(bench.intentOf(opened.page));
  bench.server.fail('/v1/payment_intents/', 'RateLimit');
  t.is((await bench.processor.changes(undefined, signal())).outcome, 'Unreachable');
  const again = await bench.processor.changes(undefined, signal());
  t.true(again.outcome === 'Changes' && again.changed.some(({ uid }) => uid === opened.purchase.uid));
});
