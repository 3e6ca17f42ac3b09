/** What Stripe alone has: what is sent to it, answers that fit nothing that was asked for, and its lists of events. */
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { centsOf, usdOf } from '../../src/engines/payments/stripe/purchase.js';
import { checkoutOf, collect, newPurchase, openPage, paidOf, paidPage, readOf, signal } from './contract.js';
import { need } from './support/stripe-account.js';
import { parseForm } from './support/stripe-form.js';
import { DEPLOYMENT, openStripeBench } from './support/stripe-bench.js';

const HOUR_MS = 3_600_000;

test('amounts are whole cents, exactly, and anything else is a fault of the caller', (t) => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 99_999_999_999 }), (cents) => centsOf(usdOf(cents)) === cents));
  t.deepEqual(['5', '5.1', '0.05', '1000.00', '19.99'].map(centsOf), [500, 510, 5, 100_000, 1_999]);
  for (const wrong of ['', '-5.00', '1.005', '1e3', '5.', '.5', '5,00', ' 5']) t.throws(() => centsOf(wrong));
});

test('a page is asked for with its purchase, its key and its end, without telemetry, and restricts no way to pay', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { request } = await openPage(bench, { amountUSD: '7.05', saveCard: true });
  const { org, name, uid } = request.purchase;
  const [seen] = bench.server.seen;
  t.is(seen?.key, request.key);
  t.is(seen?.headers['x-stripe-client-telemetry'], undefined);
  t.notRegex(String(seen?.headers['x-stripe-client-user-agent']), /platform|telemetry/);
  const metadata = { deployment: DEPLOYMENT, org, name, uid };
  t.deepEqual(parseForm(seen?.body ?? ''), {
    ...{ mode: 'payment', client_reference_id: uid, metadata, customer_creation: 'always' },
    line_items: {
      0: { quantity: '1', price_data: { currency: 'usd', unit_amount: '705', product_data: { name: 'Credits' } } },
    },
    payment_intent_data: { metadata, setup_future_usage: 'off_session' },
    invoice_creation: { enabled: 'true', invoice_data: { metadata } },
    expires_at: String(Math.floor(request.expires / 1_000)),
    success_url: request.doneURL,
    cancel_url: request.cancelURL,
  });
  t.regex(seen?.body ?? '', /CHECKOUT_SESSION_ID/);
});

test('a payment shows receipt, invoice and card, and the card only when it was to be kept', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const paid = await paidOf(bench, await paidPage(bench, { saveCard: true }));
  t.regex(paid.receiptURL ?? '', /^https:.*receipts/);
  t.regex(paid.invoiceURL ?? '', /^https:.*invoice/);
  t.deepEqual(paid.method, { brand: 'visa', last4: '4242' });
  const method = need(bench.server.account.methods, paid.card?.method ?? '');
  t.deepEqual(paid.card, {
    processor: 'Stripe',
    customer: method.customer ?? '',
    method: method.id,
    brand: 'visa',
    last4: '4242',
  });
  const opened = await openPage(bench, { saveCard: true });
  await bench.payer.pay(opened.page, 'Bank');
  await bench.payer.bankPays(opened.page);
  const byBank = await paidOf(bench, opened);
  t.deepEqual([byBank.method, byBank.card], [{ brand: 'STRIPE TEST BANK', last4: '6789' }, undefined]);
});

test('a page that ends too soon is TooLate and none is made, but the key of a page that exists gets that page', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { account } = bench.server;
  const soon = checkoutOf(bench, { expires: bench.now() + 29 * 60_000 });
  t.deepEqual(await bench.processor.openCheckout(soon, signal()), { outcome: 'TooLate' });
  t.is(account.sessions.size, 0);
  const later = { ...soon, key: `${soon.key}/2`, expires: bench.now() + HOUR_MS };
  const opened = await bench.processor.openCheckout(later, signal());
  bench.server.advance(45 * 60_000);
  t.deepEqual(await bench.processor.openCheckout(later, signal()), opened);
  const tomorrow = checkoutOf(bench, { expires: bench.now() + 25 * HOUR_MS });
  t.is((await bench.processor.openCheckout(tomorrow, signal())).outcome, 'Refused', 'a later end would not help');
  t.is(account.sessions.size, 1);
});

test('what Stripe does not take is Refused with words for the customer', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const cheap = await bench.processor.openCheckout(checkoutOf(bench, { amountUSD: '0.49' }), signal());
  t.is(cheap.outcome, 'Refused');
  t.regex(cheap.outcome === 'Refused' ? cheap.message : '', /amount_too_small/);
  const card = { processor: 'Stripe', customer: 'cus_gone', method: 'pm_gone', brand: 'visa', last4: '4242' } as const;
  const ask = { purchase: newPurchase(), key: 'charge/gone', amountUSD: '5.00', card };
  const declined = await bench.processor.charge(ask, signal());
  t.is(declined.outcome, 'Declined');
  t.regex(declined.outcome === 'Declined' ? declined.message : '', /saved card.*resource_missing/);
});

test('a payment of another amount or currency, or of nothing, is a Mismatch and never Paid', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { account } = bench.server;
  const opened = await paidPage(bench);
  const session = need(account.sessions, opened.page);
  const intent = need(account.intents, session.payment_intent);
  const mismatch = async (amountUSD = '25.00'): Promise<string> => {
    const payment = await readOf(bench, { ...opened, request: { amountUSD } });
    return payment.state === 'Mismatch' ? payment.message : `it is ${payment.state}`;
  };
  t.is((await paidOf(bench, opened)).amountUSD, '25.00');
  t.regex(await mismatch('25.01'), /25\.00 USD; asked for was 25\.01 USD/);
  session.currency = 'eur';
  t.regex(await mismatch(), /25\.00 EUR/);
  session.currency = 'usd';
  intent.currency = 'eur';
  t.regex(await mismatch(), /25\.00 EUR was paid/);
  intent.currency = 'usd';
  intent.amount_received = 2_400;
  t.regex(await mismatch(), /24\.00 USD was paid/);
  const source = { type: 'Charge', id: intent.id } as const;
  t.like(await bench.processor.read(opened.purchase, source, '25.00', signal()), { payment: { state: 'Mismatch' } });
  intent.amount_received = 2_500;
  session.payment_status = 'no_payment_required';
  t.regex(await mismatch(), /nothing had to be paid/);
});

test('a word that Stripe has not said before is neither paid nor over', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const opened = await openPage(bench);
  const session = need(bench.server.account.sessions, opened.page);
  const read = (): ReturnType<typeof bench.processor.read> =>
    bench.processor.read(opened.purchase, opened.source, '25.00', signal());
  session.status = 'frozen';
  t.like(await read(), { outcome: 'Unreachable' });
  session.status = 'open';
  await bench.payer.pay(opened.page, 'Card');
  const refund = { purchase: opened.purchase, source: opened.source, key: 'refund/1', amountUSD: '1.00' };
  await bench.processor.refund(refund, signal());
  const [made] = [...bench.server.account.refunds.values()];
  const dispute = bench.server.dispute(bench.intentOf(opened.page));
  const states = async (status: string): Promise<readonly unknown[]> => {
    if (made !== undefined) made.status = status;
    bench.server.setDispute(dispute, status);
    const { refunds, disputes } = await paidOf(bench, opened);
    return [refunds[0]?.state, disputes[0]?.state];
  };
  t.deepEqual(await states('something_new'), ['Pending', 'Open'], 'the careful reading of both');
  t.deepEqual(await states('requires_action'), ['Pending', 'Open']);
  t.deepEqual(await states('canceled'), ['Failed', 'Open']);
  t.deepEqual(await states('warning_needs_response'), ['Pending', 'Open']);
  t.deepEqual(await states('warning_closed'), ['Pending', 'Won']);
  t.deepEqual(await states('appeal_under_review'), ['Pending', 'Lost']);
  t.deepEqual(await states('prevented'), ['Pending', 'Won']);
  need(bench.server.account.disputes, dispute).balance_transactions = [{ amount: -2_500 }];
  t.deepEqual(await states('prevented'), ['Pending', 'Lost'], 'it has taken the money without a refund');
});

test('a payment with more refunds than are read is a Mismatch, so that none of them is overlooked', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const opened = await paidPage(bench);
  for (let count = 0; count < 100; count += 1) bench.server.refundByHand(bench.intentOf(opened.page), 1);
  t.is((await paidOf(bench, opened)).refunds.length, 100);
  bench.server.refundByHand(bench.intentOf(opened.page), 1);
  const payment = await readOf(bench, opened);
  t.regex(payment.state === 'Mismatch' ? payment.message : '', /more than 100 refunds/);
});

test('a page that has expired is Paid when it was paid all the same, and Pending while its payment is on its way', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const opened = await openPage(bench);
  await bench.payer.pay(opened.page, 'Bank');
  const session = need(bench.server.account.sessions, opened.page);
  session.status = 'expired';
  t.deepEqual(await readOf(bench, opened), { state: 'Pending' });
  await bench.payer.bankPays(opened.page);
  session.payment_status = 'unpaid';
  t.is((await readOf(bench, opened)).state, 'Paid');
});

/** A bench at which a card was saved. */
async function openWithCard(t: ExecutionContext) {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { account } = bench.server;
  const { card } = await paidOf(bench, await paidPage(bench, { saveCard: true }));
  if (card === undefined) throw new Error('no card was saved');
  return { bench, account, card, method: need(account.methods, card.method) };
}

test('a charge that its holder has to confirm is cancelled before it is Declined, and one that settles later is Charged', async (t) => {
  const { bench, account, card, method } = await openWithCard(t);
  const charge = async (): ReturnType<typeof bench.processor.charge> => {
    const purchase = newPurchase();
    return bench.processor.charge({ purchase, key: purchase.uid, amountUSD: '5.00', card }, signal());
  };
  method.away = 'WantsHolder';
  t.like(await charge(), {
    outcome: 'Declined',
    message: 'The bank wants the holder of the card to confirm this payment.',
  });
  t.is([...account.intents.values()].at(-1)?.status, 'canceled', 'nobody can confirm it later');
  bench.server.fail('/v1/payment_intents/', 'FailBefore', 9);
  t.is((await charge()).outcome, 'Unreachable', 'while it may still be confirmed, it is not Declined');
  method.away = 'Processes';
  t.is((await charge()).outcome, 'Charged');
});

test('a charge is looked for through all pages of its customer since it was asked for, and ends as it would have ended then', async (t) => {
  const { bench, account, card, method } = await openWithCard(t);
  const ask = () => ({ purchase: newPurchase(), key: newPurchase().uid, amountUSD: '5.00', card });
  const since = bench.now();
  const [paid, unconfirmed] = [ask(), ask()];
  const charged = await bench.processor.charge(paid, signal());
  method.away = 'WantsHolder';
  bench.server.fail('/v1/payment_intents/', 'FailBefore', 9);
  t.is((await bench.processor.charge(unconfirmed, signal())).outcome, 'Unreachable');
  bench.server.mend();
  method.away = 'Pays';
  for (let more = 0; more < 120; more++) await bench.processor.charge(ask(), signal());
  t.deepEqual(await bench.processor.findCharge(paid, since, signal()), charged);
  t.like(await bench.processor.findCharge(unconfirmed, since, signal()), { outcome: 'Declined' });
  const statuses = [...account.intents.values()].map(({ status }) => status);
  t.is(statuses.filter((status) => status === 'canceled').length, 1, 'nobody can confirm it later');
  t.deepEqual(await bench.processor.findCharge(paid, bench.now() + HOUR_MS, signal()), { outcome: 'Absent' });
});

test('a deployment sees nothing of another one on the same account', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const opened = await paidPage(bench);
  bench.server.dispute(bench.intentOf(opened.page));
  const processor = bench.also({ deployment: 'deployment-2' });
  t.deepEqual(await processor.read(opened.purchase, opened.source, '25.00', signal()), { outcome: 'Absent' });
  t.is((await collect({ processor }, undefined)).uids.size, 0);
  t.is((await collect(bench, undefined)).uids.size, 1);
});

test('changes are read page by page, and what other programs on the account sell is passed over', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { account } = bench.server;
  const opened = await Promise.all(Array.from({ length: 60 }, () => paidPage(bench)));
  account.emit('payment_intent.succeeded', { object: 'payment_intent', id: 'pi_other', metadata: {} });
  account.emit('charge.dispute.created', {
    object: 'dispute',
    id: 'du_other',
    payment_intent: 'pi_other',
    metadata: {},
  });
  account.emit('checkout.session.completed', { object: 'checkout.session', id: 'cs_other', metadata: null });
  const { uids, cursor, pages } = await collect(bench, undefined);
  t.deepEqual([...uids].toSorted(), opened.map(({ purchase }) => purchase.uid).toSorted());
  t.true(pages > 3);
  bench.server.advance(HOUR_MS);
  const quiet = await collect(bench, cursor);
  bench.server.advance(HOUR_MS);
  const late = await paidPage(bench);
  const next = await collect(bench, quiet.cursor);
  t.deepEqual([...next.uids], [late.purchase.uid], 'what was seen long ago does not come back for ever');
});

test('events that the list shows late are seen, and a change that was made by hand is found by its payment', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const opened = await paidPage(bench);
  bench.server.advance(HOUR_MS);
  const start = await collect(bench, undefined);
  bench.server.advance(HOUR_MS);
  bench.server.account.holdBack();
  bench.server.refundByHand(bench.intentOf(opened.page), 100);
  bench.server.advance(60_000);
  const blind = await collect(bench, start.cursor);
  t.is(blind.uids.size, 0);
  bench.server.account.release();
  const seen = await collect(bench, blind.cursor);
  t.deepEqual([...seen.uids], [opened.purchase.uid]);
});

test('a cursor that means nothing to Stripe begins a day ago, and one behind a forgotten event begins its window again', async (t) => {
  const bench = await openStripeBench();
  t.teardown(() => bench.close());
  const { uid } = (await paidPage(bench)).purchase;
  t.true((await collect(bench, 'another-processor:17')).uids.has(uid));
  const since = Math.floor(bench.now() / 1_000) - 60;
  t.true((await collect(bench, `stripe:${since}:${since + 60}:evt_gone`)).uids.has(uid));
  bench.server.advance(25 * HOUR_MS);
  t.false((await collect(bench, undefined)).uids.has(uid));
});
