/** Webhooks of Stripe: what is genuine, and which purchases it is about. They are signed by Stripe's own package. */
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { checkSignature } from '../../src/engines/payments/stripe/signature.js';
import type { StripeOptions } from '../../src/engines/payments/stripe/open.js';
import { newPurchase, openPage, paidOf, paidPage, signal, type Opened } from './contract.js';
import { openStripeBench, type StripeBench } from './support/stripe-bench.js';
import { WEBHOOK_SECRET, type Webhook } from './support/stripe-server.js';

const OLD_SECRET = 'whsec_old0123456789abcdef';

async function open(t: ExecutionContext, more: Partial<StripeOptions> = {}, mode?: 'live'): Promise<StripeBench> {
  const bench = await openStripeBench(more, mode);
  t.teardown(() => bench.close());
  return bench;
}

type Noticed = Awaited<ReturnType<StripeBench['processor']['notice']>>;

function notice(
  bench: StripeBench,
  { body, signature }: Pick<Webhook, 'body' | 'signature'>,
  now = bench.now(),
): Promise<Noticed> {
  return bench.processor.notice(body, signature, now, signal());
}

/** The webhook of a payment, and the page. */
async function paidWebhook(bench: StripeBench): Promise<{ readonly opened: Opened; readonly webhook: Webhook }> {
  const opened = await paidPage(bench);
  const webhook = bench.server.webhooks().find(({ event }) => event.type === 'checkout.session.completed');
  if (webhook === undefined) throw new Error('no webhook was sent');
  return { opened, webhook };
}

test('every event of a purchase names it, however often and in which order it comes', async (t) => {
  const bench = await open(t);
  const opened = await openPage(bench, { saveCard: true });
  bench.server.declines(opened.page);
  await bench.payer.pay(opened.page, 'Card');
  const { card } = await paidOf(bench, opened);
  const { purchase, source } = opened;
  await bench.processor.refund({ purchase, source, key: 'refund/1', amountUSD: '1.00' }, signal());
  bench.server.refundByHand(bench.intentOf(opened.page), 100);
  const dispute = bench.server.dispute(bench.intentOf(opened.page));
  bench.server.setDispute(dispute, 'won');
  const webhooks = bench.server.webhooks();
  const types = new Set(webhooks.map(({ event }) => event.type));
  for (const type of ['payment_intent.payment_failed', 'refund.created', 'charge.refunded', 'charge.dispute.closed'])
    t.true(types.has(type), type);
  for (const webhook of [...webhooks, ...webhooks.toReversed()])
    t.deepEqual(await notice(bench, webhook), { outcome: 'Changed', purchases: [purchase] }, webhook.event.type);
  const looked = bench.server.seen.filter(({ path }) => path.startsWith('/v1/payment_intents/'));
  t.is(looked.length, 1, 'Stripe is asked once whose a payment is');
  if (card === undefined) return t.fail();
  const again = newPurchase();
  await bench.processor.charge({ purchase: again, key: 'charge/1', amountUSD: '5.00', card }, signal());
  const [charged] = bench.server.webhooks();
  t.deepEqual(charged && (await notice(bench, charged)), { outcome: 'Changed', purchases: [again] });
});

test('a signature that is missing, wrong, of another secret or of other bytes is refused', async (t) => {
  const bench = await open(t);
  const { webhook } = await paidWebhook(bench);
  t.is((await notice(bench, webhook)).outcome, 'Changed');
  const { body, signature } = webhook;
  const changed = Buffer.from(body.toString().replace('paid', 'Paid'));
  const wrong: readonly (readonly [string, Buffer, string | undefined])[] = [
    ['none', body, undefined],
    ['empty', body, ''],
    ['no time', body, signature.replace(/^t=\d+,/, '')],
    ['two times', body, `t=1,${signature}`],
    ['two times, the first one right', body, `${signature},t=1`],
    ['no signature', body, signature.replace(/,v1=.*/, '')],
    ['another scheme', body, signature.replace('v1=', 'v0=')],
    ['cut short', body, signature.slice(0, -2)],
    ['one bit', body, signature.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ['another secret', body, bench.server.sign(body, bench.now(), OLD_SECRET)],
    ['changed bytes', changed, signature],
    ['a byte more', Buffer.concat([body, Buffer.from('\n')]), signature],
    ['a moved time', body, signature.replace(/^t=(\d+)/, (_, time) => `t=${Number(time) - 1}`)],
    ['too many', body, `${signature}${`,v1=${'0'.repeat(64)}`.repeat(20)}`],
  ];
  for (const [what, bytes, header] of wrong)
    t.is((await bench.processor.notice(bytes, header, bench.now(), signal())).outcome, 'Refused', what);
});

test('a webhook is taken for five minutes, and from at most one minute in the future', async (t) => {
  const bench = await open(t);
  const { webhook } = await paidWebhook(bench);
  const signed = Number(/^t=(\d+)/.exec(webhook.signature)?.[1]) * 1_000;
  const at = async (offset: number): Promise<string> => (await notice(bench, webhook, signed + offset)).outcome;
  t.deepEqual([await at(0), await at(300_000), await at(-60_000)], ['Changed', 'Changed', 'Changed']);
  t.deepEqual([await at(300_001), await at(-60_001), await at(-86_400_000)], ['Refused', 'Refused', 'Refused']);
});

test('while the secret is changed both sign, and without one every webhook is refused', async (t) => {
  const bench = await open(t, { webhookSecrets: [WEBHOOK_SECRET, OLD_SECRET] });
  const { webhook } = await paidWebhook(bench);
  const { body } = webhook;
  const [fresh, old] = [bench.server.sign(body), bench.server.sign(body, bench.now(), OLD_SECRET)];
  for (const signature of [fresh, old, `${old},${fresh.split(',')[1]}`])
    t.is((await notice(bench, { body, signature })).outcome, 'Changed');
  const changed = bench.also({ webhookSecrets: [WEBHOOK_SECRET] });
  t.is((await changed.notice(body, old, bench.now(), signal())).outcome, 'Refused');
  const without = bench.also({ webhookSecrets: [] });
  t.is((await without.notice(body, fresh, bench.now(), signal())).outcome, 'Refused');
});

test('an event of the other mode is refused, and so is what is no event', async (t) => {
  const bench = await open(t);
  const { webhook } = await paidWebhook(bench);
  const resigned = (change: (event: Record<string, unknown>) => unknown): Promise<Noticed> => {
    const body = Buffer.from(JSON.stringify(change(JSON.parse(webhook.body.toString()) as Record<string, unknown>)));
    return notice(bench, { body, signature: bench.server.sign(body) });
  };
  t.is((await resigned((event) => event)).outcome, 'Changed');
  for (const livemode of [true, undefined, 'false'])
    t.is((await resigned((event) => ({ ...event, livemode }))).outcome, 'Refused');
  for (const value of [[], null, 7, {}]) t.is((await resigned(() => value)).outcome, 'Refused');
  const text = Buffer.from('no JSON');
  t.is((await notice(bench, { body: text, signature: bench.server.sign(text) })).outcome, 'Refused');
  const live = await open(t, {}, 'live');
  const { webhook: real } = await paidWebhook(live);
  t.is((await notice(live, real)).outcome, 'Changed');
  t.is((await notice(live, webhook, bench.now())).outcome, 'Refused', 'a test payment is no real one');
});

test('what this deployment does not sell is Ignored', async (t) => {
  const bench = await open(t);
  const { webhook } = await paidWebhook(bench);
  const other = bench.also({ deployment: 'deployment-2' });
  t.deepEqual(await other.notice(webhook.body, webhook.signature, bench.now(), signal()), { outcome: 'Ignored' });
  const { account } = bench.server;
  account.emit('customer.created', { object: 'customer', metadata: {} });
  account.emit('checkout.session.completed', { object: 'checkout.session', payment_intent: 'pi_shop', metadata: null });
  account.emit('invoice.paid', { object: 'invoice', payment_intent: 'pi_shop', metadata: {} });
  account.emit('charge.dispute.created', { object: 'dispute', payment_intent: 'pi_nobodys', metadata: {} });
  account.emit('refund.created', { object: 'refund', payment_intent: null, metadata: {} });
  for (const foreign of bench.server.webhooks()) t.deepEqual(await notice(bench, foreign), { outcome: 'Ignored' });
  const looked = bench.server.seen.filter(({ path }) => path.startsWith('/v1/payment_intents/'));
  t.deepEqual(
    looked.map(({ path }) => path),
    ['/v1/payment_intents/pi_nobodys'],
    'what would be marked if it were ours costs no look',
  );
});

test('a dispute whose payment cannot be looked up is Unreachable, so that its webhook comes again', async (t) => {
  const bench = await open(t);
  const { opened } = await paidWebhook(bench);
  bench.server.dispute(bench.intentOf(opened.page));
  const [webhook] = bench.server.webhooks();
  if (webhook === undefined) return t.fail();
  bench.server.fail('/v1/payment_intents/', 'RateLimit');
  t.is((await notice(bench, webhook)).outcome, 'Unreachable');
  t.deepEqual(await notice(bench, webhook), { outcome: 'Changed', purchases: [opened.purchase] });
});

test('nothing but what the secret has signed is genuine, whatever the header holds', (t) => {
  const body = Buffer.from('{"object":"event"}');
  const header = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc
      .array(fc.constantFrom('t=1', 't=1700000000', 'v1=', `v1=${'a'.repeat(64)}`, 'v0=ab', '', ' ', '='))
      .map((parts) => parts.join(',')),
  );
  fc.assert(
    fc.property(
      header,
      (text) => checkSignature(body, text, [WEBHOOK_SECRET], 1_700_000_000_000).outcome === 'Refused',
    ),
  );
  t.pass();
});
