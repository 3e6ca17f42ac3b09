/** TopUps at a running service with the embedded test processor: every code, event and limit of the specification, as customers see them. */
import test from 'ava';
import { client, listAt, numberAt, objectOf, path, textAt, valueAt, type Answer, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const TOPUPS = path('topups', '');
const WALLET = path('wallet', '');
const EVENTS = `${path('events', '')}?limit=500`;
const RECHARGE = { enabled: true, belowUSD: '30.00', amountUSD: '25.00', monthlyLimitUSD: '60.00' };

let service: Running;
let operator: Client;
test.before(async (t) => {
  t.timeout(120_000);
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid' } });
  operator = service.client();
});
test.after.always(async () => service?.close());

let orgs = 0;
async function newOrg(): Promise<Client> {
  const { body } = await operator.post('/ops/v1/orgs', { name: `buyer-${(orgs += 1)}` });
  return client(service.url, textAt(body, 'key'));
}

/** As a browser without cookies and keys. */
async function browse(url: string, form?: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, {
    redirect: 'manual',
    ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
  });
}

async function make(owner: Client, name: string, spec: object = {}): Promise<Answer> {
  return owner.post(TOPUPS, objectOf('TopUp', name, { amountUSD: '20.00', ...spec }));
}

const read = async (owner: Client, name: string): Promise<unknown> => (await owner.get(`${TOPUPS}/${name}`)).body;
const phase = async (owner: Client, name: string): Promise<string> =>
  textAt(await read(owner, name), 'status', 'phase');
const balance = async (owner: Client): Promise<string> => textAt((await owner.get(WALLET)).body, 'balanceUSD');

async function opened(owner: Client, name: string, spec: object = {}): Promise<string> {
  const answer = await make(owner, name, spec);
  if (answer.status !== 201) throw new Error(answer.text);
  return until('its page is open', async () => {
    const url = valueAt(await read(owner, name), 'status', 'checkoutURL');
    return typeof url === 'string' && url;
  });
}

async function bought(owner: Client, name: string, spec: object = {}, save = false): Promise<string> {
  const page = await opened(owner, name, spec);
  await browse(page, { action: 'pay', ...(save && { save: 'on' }) });
  await until('it is credited', async () => (await phase(owner, name)) === 'Succeeded');
  return page;
}

async function events(owner: Client): Promise<readonly string[]> {
  return listAt((await owner.get(EVENTS)).body, 'items').map((event) => textAt(event, 'type'));
}

const uidOf = async (owner: Client, name: string): Promise<string> =>
  textAt(await read(owner, name), 'metadata', 'uid');

async function payBack(uid: string, body: object, headers = {}): Promise<Answer> {
  return operator.post(`/ops/v1/topups/${uid}/refunds`, body, headers);
}

test('a TopUp is paid on its page and credited once, and the browser is sent on once', async (t) => {
  const owner = await newOrg();
  const made = await make(owner, 'first', {
    successURL: 'http://localhost:4000/paid?order=1',
    savePaymentMethod: false,
  });
  t.is(made.status, 201);
  t.is(textAt(made.body, 'status', 'phase'), 'Queued');
  t.is(valueAt(made.body, 'spec', 'successURL'), undefined, 'it reads back empty');
  const page = await until('its page is open', async () => {
    const url = valueAt(await read(owner, 'first'), 'status', 'checkoutURL');
    return typeof url === 'string' && url;
  });
  t.is(await phase(owner, 'first'), 'Running');
  t.truthy(textAt(await read(owner, 'first'), 'status', 'expirationTime'));
  t.regex(await (await browse(page)).text(), /no money moves/i);

  const [paid, again] = await Promise.all([browse(page, { action: 'pay' }), browse(page, { action: 'pay' })]);
  const done = paid.headers.get('location') ?? again.headers.get('location') ?? '';
  const landed = await browse(done);
  t.regex(await landed.text(), /refresh[^>]*url=http:\/\/localhost:4000\/paid\?order=1/i);
  t.notRegex(await (await browse(done)).text(), /localhost:4000/, 'from then on it is shown here');
  t.is((await browse(`${done.slice(0, -1)}${done.endsWith('0') ? '1' : '0'}`)).status, 404, 'with another token');

  await until('it is credited', async () => (await phase(owner, 'first')) === 'Succeeded');
  const { status } = (await read(owner, 'first')) as { status: Record<string, unknown> };
  t.like(status, { creditedUSD: '20.00', paymentMethod: { brand: 'test', last4: '4242' } });
  for (const field of ['paidTime', 'paymentIntent', 'transaction', 'receiptURL', 'invoicePDFURL'])
    t.is(typeof status[field], 'string', field);
  t.is(status['checkoutURL'], undefined);
  t.is(await balance(owner), '20.00');
  t.is((await browse(String(status['receiptURL']))).status, 200);
  t.regex(await (await browse(String(status['invoicePDFURL']))).text(), /20\.00/);
  const grants = listAt((await owner.get(path('creditgrants', ''))).body, 'items');
  t.deepEqual(
    grants.map((grant) => [textAt(grant, 'spec', 'source'), textAt(grant, 'status', 'remainingUSD')]),
    [['TopUp', '20.00']],
  );
  t.deepEqual(
    (await events(owner)).filter((type) => type.startsWith('topup.')),
    ['topup.succeeded'],
  );
  const other = await newOrg();
  t.is((await other.get(`${TOPUPS}/first`)).status, 404);
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const refused = await owner.ask(method, `${TOPUPS}/first`, { body: {} });
    t.is(refused.status, 405, method);
    t.regex(textAt(refused.body, 'message'), /a TopUp is never changed or deleted$/);
  }
});

test('a declined card may try again, a bank settles later, and what a bank refuses fails', async (t) => {
  const owner = await newOrg();
  const page = await opened(owner, 'card');
  t.is((await browse(page, { action: 'decline' })).status, 303);
  t.is(await phase(owner, 'card'), 'Running');
  await browse(page, { action: 'bank' });
  await until(
    'it waits for the bank',
    async () => valueAt(await read(owner, 'card'), 'status', 'reason') === 'PaymentPending',
  );
  t.is(await balance(owner), '0.00');
  await browse(page, { action: 'bank-pays' });
  await until('it is credited', async () => (await phase(owner, 'card')) === 'Succeeded');
  t.is(await balance(owner), '20.00');

  const refused = await opened(owner, 'bank');
  await browse(refused, { action: 'bank' });
  await browse(refused, { action: 'bank-refuses' });
  await until('it has failed', async () => (await phase(owner, 'bank')) === 'Failed');
  t.is(textAt(await read(owner, 'bank'), 'status', 'reason'), 'PaymentFailed');
  await until('the event is there', async () => (await events(owner)).includes('topup.failed'));
  t.is(await balance(owner), '20.00');
});

test('an org has five open TopUps and buys 10,000.00 USD a day, and the service alone charges cards by itself', async (t) => {
  const owner = await newOrg();
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => make(owner, `open-${i}`)));
  t.is(answers.filter(({ status }) => status === 201).length, 5);
  const [refused] = answers.filter(({ status }) => status !== 201);
  t.is(`${refused?.status} ${textAt(refused?.body, 'reason')}`, '403 TopUpLimitReached');
  const free = await newOrg();
  const auto = await make(free, 'auto', { origin: 'AutoRecharge' });
  t.is(auto.status, 422);
  t.is(textAt(listAt(auto.body, 'details', 'causes')[0], 'field'), 'spec.origin');
  const elsewhere = await make(free, 'far', { successURL: 'https://evil.example/' });
  t.is(elsewhere.status, 422);
  t.is(textAt(listAt(elsewhere.body, 'details', 'causes')[0], 'field'), 'spec.successURL');

  const big = await newOrg();
  for (let i = 0; i < 10; i++) await bought(big, `big-${i}`, { amountUSD: '1000.00' });
  const more = await make(big, 'more', { amountUSD: '5.00' });
  t.is(`${more.status} ${textAt(more.body, 'reason')}`, '403 TopUpLimitReached');
  t.regex(textAt(more.body, 'fix'), /0\.00 USD are left/);

  const auto24 = await newOrg();
  await bought(auto24, 'saves', { amountUSD: '5.00', savePaymentMethod: true }, true);
  for (let i = 0; i < 9; i++) await bought(auto24, `big-${i}`, { amountUSD: '1000.00' });
  const all = { enabled: true, belowUSD: '90000.00', amountUSD: '1000.00', monthlyLimitUSD: '90000.00' };
  t.is((await auto24.merge(WALLET, { autoRecharge: all })).status, 200);
  const stopped = await until('it stops', async () => {
    const why = valueAt((await auto24.get(WALLET)).body, 'autoRecharge', 'status', 'stopped');
    return typeof why === 'string' && why;
  });
  t.regex(stopped, /at most 10000\.00 may/);
  t.is(await balance(auto24), '9005.00');
});

test('what is paid back takes its credits, once for a key, and what was spent already is owed', async (t) => {
  const owner = await newOrg();
  await bought(owner, 'twenty');
  const uid = await uidOf(owner, 'twenty');
  const key = { 'idempotency-key': 'part' };
  const part = await payBack(uid, { amountUSD: '7.50' }, key);
  t.is(part.status, 201);
  t.is(textAt((await payBack(uid, { amountUSD: '7.50' }, key)).body, 'refund'), textAt(part.body, 'refund'));
  await until('it is shown', async () => valueAt(await read(owner, 'twenty'), 'status', 'refundedUSD') === '7.50');
  t.is(await balance(owner), '12.50');
  t.is((await payBack(uid, { amountUSD: '15.00' })).status, 409, 'more than is left');
  t.is((await payBack(uid, { amountUSD: '1.001' })).status, 422);
  const empty = await operator.post(`/ops/v1/topups/${uid}/refunds`, undefined, { 'content-type': 'application/json' });
  t.is(empty.status, 400, 'an empty body is not all of it');
  t.is((await payBack('nothing', {})).status, 404);
  t.is((await payBack('%00', {})).status, 404);
  t.is((await operator.get('/ops/v1/promocodes/%00')).status, 404);
  for (const body of [{ amountUSD: '1.00' }, {}]) {
    const other = await payBack(uid, body, key);
    t.is(`${other.status} ${textAt(other.body, 'reason')}`, '422 IdempotencyKeyReused', 'it has paid back a part');
  }
  t.is((await owner.post(`/ops/v1/topups/${uid}/refunds`, {})).status, 403);

  // Held by work, so that the refund takes what work was promised.
  const job = await owner.post(
    path('jobs', 'default'),
    objectOf('Job', 'holds', { command: ['true'], resources: { cpu: '60' } }),
  );
  t.is(job.status, 201, job.text);
  const rest = { 'idempotency-key': 'rest' };
  const whole = await payBack(uid, {}, rest);
  t.is(whole.status, 201);
  await until(
    'all is paid back',
    async () => valueAt(await read(owner, 'twenty'), 'status', 'refundedUSD') === '20.00',
  );
  t.is(await balance(owner), '0.00');
  t.is((await payBack(uid, {})).status, 409);
  t.deepEqual((await payBack(uid, {}, rest)).body, whole.body, 'a repeat is answered the same when nothing is left');
  const refused = await owner.post(path('jobs', 'default'), objectOf('Job', 'more', { command: ['true'] }));
  t.is(`${refused.status} ${textAt(refused.body, 'reason')}`, '402 InsufficientCredits');
  const told = listAt((await owner.get(EVENTS)).body, 'items').find(
    (event) => valueAt(event, 'type') === 'topup.refunded',
  );
  t.is(numberAt(told, 'count'), 2);
});

test('a disputed payment pauses new work until it is decided, and one that is lost takes its credits', async (t) => {
  const owner = await newOrg();
  const page = await bought(owner, 'disputed');
  await bought(owner, 'other');
  const begin = (name: string) => owner.post(path('jobs', 'default'), objectOf('Job', name, { command: ['true'] }));
  const chat = { model: 'echo', max_tokens: 10, messages: [{ role: 'user', content: 'hello '.repeat(500) }] };
  const endpoint = objectOf('InferenceEndpoint', 'echo', { model: 'echo' });
  t.is((await owner.post(path('inferenceendpoints', 'default'), endpoint)).status, 201);
  t.is((await owner.post('/v1/chat/completions', chat)).status, 200);
  await browse(page, { action: 'dispute' });
  await until('the wallet says so', async () => listAt((await owner.get(WALLET)).body, 'disputes').length === 1);
  const paused = await begin('paused');
  t.is(`${paused.status} ${textAt(paused.body, 'reason')}`, '402 PaymentDisputed');
  const spent = 40 - Number(await balance(owner));
  t.true(spent >= 0 && spent < 0.01);
  // What was set aside before may be used up; nothing more is.
  const stopped = await until('models are paused', async () => {
    const answer = await owner.post('/v1/chat/completions', chat);
    return answer.status !== 200 && answer;
  });
  t.is(`${stopped.status} ${textAt(stopped.body, 'error', 'code')}`, '402 PaymentDisputed', stopped.text);
  await browse(page, { action: 'lose' });
  await until('its credits are gone', async () => Number(await balance(owner)) < 20.001);
  await until('models go on', async () => (await owner.post('/v1/chat/completions', chat)).status === 200);
  const { status } = (await read(owner, 'disputed')) as { status: { conditions: { type: string; reason: string }[] } };
  t.is(status.conditions.find(({ type }) => type === 'Disputed')?.reason, 'Lost');
  await until('new work begins', async () => (await begin('goes-on')).status === 201);
  const all = await events(owner);
  t.deepEqual(
    all.filter((type) => type.startsWith('billing.dispute')),
    ['billing.dispute_opened', 'billing.dispute_closed'],
  );
});

test('an org that recharges by itself needs a saved card, buys below the level, and stops at its limit', async (t) => {
  const owner = await newOrg();
  const without = await owner.merge(WALLET, { autoRecharge: RECHARGE });
  t.is(`${without.status} ${textAt(without.body, 'reason')}`, '402 PaymentMethodRequired');
  t.is((await owner.merge(WALLET, { autoRecharge: { enabled: true } })).status, 422);
  t.is((await owner.merge(WALLET, { warnBelowUSD: '-1' })).status, 422);
  for (const amount of ['20,00', 'x', '1e5', '٥.٠٠']) {
    const bad = await owner.merge(WALLET, { autoRecharge: { ...RECHARGE, amountUSD: amount } });
    t.is(bad.status, 422, amount);
    t.is(textAt(listAt(bad.body, 'details', 'causes')[0], 'field'), 'autoRecharge.amountUSD');
  }
  await bought(owner, 'saves', { amountUSD: '5.00', savePaymentMethod: true }, true);
  await until(
    'the card is saved',
    async () => valueAt((await owner.get(WALLET)).body, 'paymentMethod', 'last4') === '4242',
  );
  const patched = await owner.merge(WALLET, { warnBelowUSD: '100.00', autoRecharge: RECHARGE });
  t.is(patched.status, 200);
  await until('it has bought once', async () => (await balance(owner)) === '30.00');
  await until('the events are there', async () => {
    const all = await events(owner);
    return all.includes('billing.auto_recharge_succeeded') && all.includes('billing.low_balance');
  });
  const recharges = listAt((await owner.get(TOPUPS)).body, 'items').filter(
    (one) => valueAt(one, 'spec', 'origin') === 'AutoRecharge',
  );
  t.is(recharges.length, 1, '30.00 is not below 30.00');
  await owner.merge(WALLET, { autoRecharge: { belowUSD: '60.00', amountUSD: '20.13' } });
  await until('the TopUp says that a card is declined', async () =>
    (await events(owner)).includes('billing.auto_recharge_failed'),
  );
  const { body } = await owner.get(WALLET);
  t.truthy(textAt(body, 'autoRecharge', 'status', 'stopped'));
  t.is(await balance(owner), '30.00');
});

test('credits that were spent and whose payment is taken back are owed, and new work waits until they are paid', async (t) => {
  const owner = await newOrg();
  const page = await bought(owner, 'spent', { amountUSD: '5.00' });
  const endpoint = objectOf('InferenceEndpoint', 'echo', { model: 'echo' });
  t.is((await owner.post(path('inferenceendpoints', 'default'), endpoint)).status, 201);
  const call = { model: 'echo', max_tokens: 10, messages: [{ role: 'user', content: 'hello '.repeat(2_000) }] };
  const answer = await owner.post('/v1/chat/completions', call);
  t.is(answer.status, 200, answer.text);
  await until('the request is charged', async () => Number(await balance(owner)) < 5);
  await browse(page, { action: 'dispute' });
  await browse(page, { action: 'lose' });
  await until('something is owed', async () => Number(textAt((await owner.get(WALLET)).body, 'arrearsUSD')) > 0);
  const refused = await until('the dispute is over', async () => {
    const asked = await owner.post(path('jobs', 'default'), objectOf('Job', 'waits', { command: ['true'] }));
    return textAt(asked.body, 'reason') !== 'PaymentDisputed' && asked;
  });
  t.is(`${refused.status} ${textAt(refused.body, 'reason')}`, '402 ArrearsOutstanding');
  await until('an event says it', async () => (await events(owner)).includes('billing.arrears_posted'));
  await bought(owner, 'pays', { amountUSD: '5.00' });
  const after = (await owner.get(WALLET)).body;
  t.is(textAt(after, 'arrearsUSD'), '0.00');
  t.true(Number(textAt(after, 'balanceUSD')) < 5, 'what was owed is paid first');
  t.is((await owner.post(path('jobs', 'default'), objectOf('Job', 'begins', { command: ['true'] }))).status, 201);
});
