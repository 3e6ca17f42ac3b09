/** The route for webhooks of Stripe: bytes as they came, bounds, and an answer after which Stripe does the right thing. */
import test, { type ExecutionContext } from 'ava';
import type { NoticeOutcome, Payments } from '../../../actors/payments/service.js';
import { at, json } from '../support/json.js';
import { openTestApi, type TestApi, type TestApiOptions } from '../support/test-api.js';

const PATH = '/payments/stripe';
const SIGNATURE = 't=1,v1=ab';

interface Noticed {
  readonly body: Buffer;
  readonly signature: string | undefined;
}

async function open(
  t: ExecutionContext,
  notice: () => Promise<NoticeOutcome>,
  options: TestApiOptions = {},
): Promise<{ readonly api: TestApi; readonly noticed: Noticed[] }> {
  const noticed: Noticed[] = [];
  const unwired = (): never => {
    throw new Error('not wired in this test');
  };
  const payments: Payments = {
    ...{ processor: 'Stripe', desk: undefined, settle: unwired, landing: unwired, refund: unwired },
    storageFull: () => undefined,
    notice(body, signature) {
      noticed.push({ body, signature });
      return notice();
    },
  };
  return { api: await openTestApi(t, { payments, ...options }), noticed };
}

/** Without a key. */
function send(
  api: TestApi,
  body: RequestInit['body'],
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const all = { 'content-type': 'application/json', 'stripe-signature': SIGNATURE, ...headers };
  return fetch(api.url + PATH, { method: 'POST', body: body ?? '', headers: all, duplex: 'half' });
}

test('a webhook is handed on byte for byte without a key, and answered when it is taken', async (t) => {
  const { api, noticed } = await open(t, async () => ({ outcome: 'Taken' }));
  const body = Buffer.from('{ "id":  "evt_1",\r\n "text": "\u00e4\\u0000" }\n\xff', 'latin1');
  const answer = await send(api, body);
  t.is(answer.status, 200);
  t.deepEqual(await json(answer), { received: true });
  t.deepEqual(noticed[0]?.body, body);
  t.is(noticed[0]?.signature, SIGNATURE);
});

test('a webhook that is refused is 400 and says why', async (t) => {
  const { api } = await open(t, async () => ({ outcome: 'Refused', message: 'the signature is older than 300 s' }));
  const answer = await send(api, '{}');
  t.is(answer.status, 400);
  const status = await json(answer);
  t.is(at(status, 'reason'), 'BadRequest');
  t.regex(String(at(status, 'message')), /older than 300 s/);
});

test('a webhook that cannot be committed is 503, so that Stripe sends it again', async (t) => {
  const { api } = await open(t, async () => ({ outcome: 'Later' }));
  const answer = await send(api, '{}');
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), '10');
});

test('a webhook without a signature, or of more than 1 MiB, reaches nothing behind HTTP', async (t) => {
  const { api, noticed } = await open(t, async () => ({ outcome: 'Taken' }));
  const unsigned = await fetch(api.url + PATH, { method: 'POST', body: '{}' });
  t.is(unsigned.status, 400);
  t.is((await send(api, 'x'.repeat(1024 * 1024 + 1))).status, 413, 'by its length');
  const chunks = new Blob(['x'.repeat(1024 * 1024), 'x']).stream();
  t.is((await send(api, chunks)).status, 413, 'while it is read');
  t.is(noticed.length, 0);
  t.is((await send(api, 'x'.repeat(1024 * 1024))).status, 200);
});

test('a standby takes no webhooks', async (t) => {
  const { api, noticed } = await open(t, async () => ({ outcome: 'Taken' }));
  api.health.active = false;
  t.is((await send(api, '{}')).status, 503);
  t.is(noticed.length, 0);
});

test('webhooks count against the rate of their address, and only so many are worked on at once', async (t) => {
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const { api, noticed } = await open(t, () => gate.then(() => ({ outcome: 'Taken' })));
  const sent = Array.from({ length: 33 }, () => send(api, '{}'));
  const first = await Promise.race(sent);
  t.is(first.status, 503, 'the one too many is sent away before any other is done');
  t.is(noticed.length, 32);
  go();
  const all = (await Promise.all(sent)).map(({ status }) => status);
  t.deepEqual([all.filter((status) => status === 200).length, all.filter((status) => status === 503).length], [32, 1]);
  t.is((await send(api, '{}')).status, 200, 'places come back');

  const limits = { rates: { key: 1_000, org: 1_000, address: 1 } };
  const slow = await open(t, async () => ({ outcome: 'Taken' }), { limits });
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await send(slow.api, '{}')).status));
  t.true(statuses.includes(429));
  t.true(slow.noticed.length < 40);
});
