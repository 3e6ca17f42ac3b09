/** The local Stripe server keeps Stripe's rule of Idempotency-Keys, on which the tests of retries stand. */
import test from 'ava';
import fc from 'fast-check';
import { openStripeServer } from './support/stripe-server.js';
import { openIdempotencyKeys } from './support/stripe-idempotency.js';

test('a key answers its first request again, runs it once, and refuses any other', (t) => {
  const call = fc.record({ key: fc.constantFrom('a', 'b'), request: fc.constantFrom('x', 'y'), kept: fc.boolean() });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 20 }), (calls) => {
      const keys = openIdempotencyKeys();
      const first = new Map<string, { readonly request: string; readonly body: string }>();
      for (const [index, { key, request, kept }] of calls.entries()) {
        let runs = 0;
        const replied = keys.run(key, request, () => {
          runs += 1;
          return { status: kept ? 200 : 400, body: String(index), kept };
        });
        const known = first.get(key);
        if (known === undefined) {
          if (runs !== 1 || replied.body !== String(index)) return false;
          if (kept) first.set(key, { request, body: String(index) });
        } else if (runs !== 0 || replied.replayed !== (known.request === request)) return false;
        else if (replied.replayed ? replied.body !== known.body : !replied.body.includes('idempotency_error'))
          return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('over HTTP one key makes one refund, other parameters are 400, and a refused end of a page leaves its key free', async (t) => {
  const server = await openStripeServer();
  t.teardown(() => server.close());
  const post = async (
    path: string,
    body: string,
    key: string,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = { authorization: `Bearer ${server.secretKey}`, 'idempotency-key': key };
    const answer = await fetch(server.url + path, { method: 'POST', headers, body });
    return { status: answer.status, text: await answer.text() };
  };
  const page = (ahead: number): string =>
    `mode=payment&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=500` +
    `&line_items[0][price_data][product_data][name]=Credits&success_url=https://a.example&cancel_url=https://a.example` +
    `&expires_at=${Math.floor(server.now() / 1_000) + ahead}`;
  const soon = await post('/v1/checkout/sessions', page(60), 'k');
  t.is(soon.status, 400);
  t.regex(soon.text, /"param":"expires_at"/);
  const body = page(3_600);
  const made = await post('/v1/checkout/sessions', body, 'k');
  t.is(made.status, 200, 'a request that failed its checks has not used the key');
  const { id } = JSON.parse(made.text) as { readonly id: string };
  server.pay(id, 'card');
  t.deepEqual(await post('/v1/checkout/sessions', body, 'k'), made, 'as it was then');
  const other = await post('/v1/checkout/sessions', page(3_700), 'k');
  t.is(other.status, 400);
  t.regex(other.text, /idempotency_error/);
  const intent = server.account.sessions.get(id)?.payment_intent;
  const refund = (amount: number): Promise<{ readonly status: number }> =>
    post('/v1/refunds', `payment_intent=${intent}&amount=${amount}`, 'r');
  t.is((await refund(100)).status, 200);
  t.is((await refund(100)).status, 200);
  t.is((await refund(101)).status, 400);
  t.is(server.account.refunds.size, 1);
});
