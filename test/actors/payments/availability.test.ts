/** TopUps when nobody can take the money: a create says so, and nothing is made. */
import test from 'ava';
import { freePort } from '../../../src/app/free-port.js';
import { openStripe } from '../../../src/engines/payments/stripe/open.js';
import { openTestDatabase } from '../../support/postgres.js';
import { ORG, openRuntime } from '../runtime-fixture.js';
import { until } from '../../e2e/until.js';

const TOPUP = { org: ORG, kind: 'TopUp', project: '', name: 'first' };
const CREATE = { verb: 'create', body: { metadata: { name: 'first' }, spec: { amountUSD: '20.00' } } } as const;

test('a service that takes no payments refuses to sell credits', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const reply = await runtime.write(TOPUP, CREATE);
  t.like(reply, { outcome: 'Refused', refusal: { code: 'PaymentsNotConfigured', target: { kind: 'TopUp' } } });
  t.is(await runtime.store.objects.read(TOPUP), undefined);
  await runtime.drop();
});

test('while the processor does not answer nothing is sold, and it can be again a moment after it does', async (t) => {
  let reachable = false;
  const port = await freePort();
  const stripe = openStripe({
    ...{ secretKey: 'sk_test_0123456789abcdef', webhookSecrets: [], url: `http://127.0.0.1:${port}` },
    ...{ deployment: 'here', withinMs: 2_000 },
  });
  const processor: typeof stripe = {
    ...stripe,
    check: (signal) => (reachable ? Promise.resolve({ outcome: 'Reachable' }) : stripe.check(signal)),
  };
  const runtime = await openRuntime((await openTestDatabase(t)).url, { processor });
  const refused = await runtime.write(TOPUP, CREATE);
  t.like(refused, { outcome: 'Refused', refusal: { code: 'PaymentVerificationUnavailable' } });
  t.is(await runtime.store.objects.read(TOPUP), undefined);
  reachable = true;
  await until('the TopUp is made', async () => (await runtime.write(TOPUP, CREATE)).outcome === 'Done');
  t.not(await runtime.store.objects.read(TOPUP), undefined);
  await runtime.drop();
});
