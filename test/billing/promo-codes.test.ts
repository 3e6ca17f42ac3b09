/** Promo codes at a running service: what operators do with them, and what an org gets for one, exactly once. */
import { Client as Database } from 'pg';
import test, { type ExecutionContext } from 'ava';
import { client, listAt, objectOf, path, textAt, valueAt, type Answer, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const CODES = '/ops/v1/promocodes';
const REDEMPTIONS = path('wallet/redemptions', '');
const WALLET = path('wallet', '');
const GRANTS = path('creditgrants', '');
const HOUR_MS = 3_600_000;

let service: Running;
let operator: Client;
test.before(async (t) => {
  t.timeout(120_000);
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid' } });
  operator = service.client();
});
test.after.always(() => service?.close());

interface Org {
  readonly org: string;
  readonly owner: Client;
}

let orgs = 0;
async function newOrg(): Promise<Org> {
  const { body } = await operator.post('/ops/v1/orgs', { name: `customer-${(orgs += 1)}` });
  return { org: textAt(body, 'org'), owner: client(service.url, textAt(body, 'key')) };
}

async function make(code: string, more: object = {}): Promise<void> {
  const answer = await operator.post(CODES, { code, amountUSD: '5.00', ...more });
  if (answer.status !== 201) throw new Error(answer.text);
}

const redeem = (owner: Client, code: string): Promise<Answer> => owner.post(REDEMPTIONS, { code });
const balance = async (owner: Client): Promise<string> => textAt((await owner.get(WALLET)).body, 'balanceUSD');

function refused(t: ExecutionContext, answer: Answer, status: number, reason: string): void {
  t.deepEqual([answer.status, textAt(answer.body, 'reason')], [status, reason], answer.text);
}

async function inDatabase<T>(run: (database: Database) => Promise<T>): Promise<T> {
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  try {
    return await run(database);
  } finally {
    await database.end();
  }
}

/** As a service leaves it that is killed between the claim and the CreditGrant. */
async function claimOnly(org: string, code: string, age: string): Promise<void> {
  await inDatabase((database) =>
    database.query(
      `INSERT INTO promo_redemptions (org, code, amount_usd, tried) VALUES ($1, $2, 5, now() - $3::interval)`,
      [org, code, age],
    ),
  );
}

/** As time does it: a code that has expired already is not made. */
async function expire(code: string): Promise<void> {
  await inDatabase((database) => database.query('UPDATE promo_codes SET expires = 1 WHERE code = $1', [code]));
}

test('a code gives an org its CreditGrant, whose credits are on the wallet, and never a second one', async (t) => {
  const { owner } = await newOrg();
  await make('Welcome-2026', { creditsExpireAfter: '720h', note: 'For the conference.' });
  const before = Date.now();
  const answer = await redeem(owner, 'wELCOME-2026');
  t.is(answer.status, 201, answer.text);
  t.is(textAt(answer.body, 'kind'), 'CreditGrant');
  t.is(textAt(answer.body, 'metadata', 'name'), 'promo-welcome-2026');
  const { expirationTime, ...spec } = valueAt(answer.body, 'spec') as { expirationTime: string };
  t.deepEqual(spec, { amountUSD: '5.00', source: 'Promo', note: 'For the conference.' });
  const lasts = Date.parse(expirationTime) - before;
  t.true(Math.abs(lasts - 720 * HOUR_MS) < 60_000, `${lasts}`);
  t.is(await balance(owner), '5.00');
  const again = await redeem(owner, 'WELCOME-2026');
  refused(t, again, 409, 'PromoCodeUsed');
  t.regex(textAt(again.body, 'message'), /CreditGrant "promo-welcome-2026"/);
  t.is(await balance(owner), '5.00');
  const other = await newOrg();
  t.is((await redeem(other.owner, 'welcome-2026')).status, 201, 'each org once');
  t.is(valueAt((await operator.get(`${CODES}/welcome-2026`)).body, 'redemptions'), 2);
});

test('what cannot be redeemed is refused by its own code, and gives nothing', async (t) => {
  const { owner } = await newOrg();
  await make('OVER', { expirationTime: '2030-01-01T00:00:00Z' });
  await expire('OVER');
  await t.throwsAsync(make('BEFORE', { expirationTime: '2026-01-01T00:00:00Z' }), { message: /must be in the future/ });
  await make('GONE');
  await make('ONE-ONLY', { maxRedemptions: 1 });
  t.is((await operator.remove(`${CODES}/gone`)).status, 200);
  t.is((await redeem((await newOrg()).owner, 'ONE-ONLY')).status, 201);
  refused(t, await redeem(owner, 'OVER'), 410, 'PromoCodeExpired');
  refused(t, await redeem(owner, 'GONE'), 410, 'PromoCodeExpired');
  refused(t, await redeem(owner, 'ONE-ONLY'), 409, 'PromoCodeUsed');
  refused(t, await redeem(owner, 'NOT-A-CODE'), 404, 'NotFound');
  for (const code of ['abc', 'a'.repeat(65), 'has space', '-dash', 'dash-', 'ÄÄÄÄ'])
    refused(t, await redeem(owner, code), 422, 'Invalid');
  refused(t, await owner.post(REDEMPTIONS, { code: 'OVER', org: 'x' }), 422, 'Invalid');
  refused(t, await owner.get(REDEMPTIONS), 405, 'MethodNotAllowed');
  t.is(await balance(owner), '0.00');
  const reader = await owner.post(path('apikeys', ''), objectOf('APIKey', 'reader', { scopes: ['billing:read'] }));
  const key = client(service.url, textAt(reader.body, 'status', 'key'));
  refused(t, await redeem(key, 'OVER'), 403, 'Forbidden');
  refused(t, await owner.get(CODES), 403, 'Forbidden');
});

test('of twenty orgs that redeem a code for five at once exactly five get it, and each of them once', async (t) => {
  await make('FIVE', { maxRedemptions: 5 });
  const all: Org[] = [];
  for (let i = 0; i < 20; i++) all.push(await newOrg());
  // Keys that the service has not seen are looked up a few at a time.
  for (const { owner } of all) t.is(await balance(owner), '0.00');
  const answers = await Promise.all(all.map(({ owner }) => redeem(owner, 'FIVE')));
  t.is(answers.filter(({ status }) => status === 201).length, 5);
  for (const answer of answers) if (answer.status !== 201) refused(t, answer, 409, 'PromoCodeUsed');
  const balances = await Promise.all(all.map(({ owner }) => balance(owner)));
  t.is(balances.filter((amount) => amount === '5.00').length, 5);
  t.is(balances.filter((amount) => amount === '0.00').length, 15);
  const { body } = await operator.get(`${CODES}/five`);
  t.deepEqual([valueAt(body, 'redemptions'), textAt(body, 'state')], [5, 'UsedUp']);
});

test('of twenty redemptions of one code by one org at once exactly one gets it', async (t) => {
  const { owner } = await newOrg();
  await make('RACE', { maxRedemptions: 3 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(owner, 'RACE')));
  t.is(answers.filter(({ status }) => status === 201).length, 1);
  for (const answer of answers) if (answer.status !== 201) refused(t, answer, 409, 'PromoCodeUsed');
  t.is(await balance(owner), '5.00');
  t.is(valueAt((await operator.get(`${CODES}/RACE`)).body, 'redemptions'), 1, 'one is counted');
});

test('a claim that was cut off before its CreditGrant is finished by the same request, also when the code has expired since', async (t) => {
  const { org, owner } = await newOrg();
  await make('CRASHED', { expirationTime: '2030-01-01T00:00:00Z' });
  await claimOnly(org, 'CRASHED', '1 second');
  await expire('CRASHED');
  t.is(await balance(owner), '0.00');
  t.is((await redeem(owner, 'crashed')).status, 201);
  t.is(await balance(owner), '5.00');
  refused(t, await redeem(owner, 'crashed'), 409, 'PromoCodeUsed');
  t.is(await balance(owner), '5.00');
});

test('a redemption that was cut off behind its CreditGrant is answered that CreditGrant, and credits nothing more', async (t) => {
  const { org, owner } = await newOrg();
  await make('UNMARKED');
  const first = await redeem(owner, 'UNMARKED');
  await inDatabase((database) => database.query('UPDATE promo_redemptions SET granted = NULL WHERE org = $1', [org]));
  const second = await redeem(owner, 'UNMARKED');
  t.is(second.status, 201, second.text);
  t.is(textAt(second.body, 'metadata', 'uid'), textAt(first.body, 'metadata', 'uid'));
  t.is(await balance(owner), '5.00');
  refused(t, await redeem(owner, 'UNMARKED'), 409, 'PromoCodeUsed');
});

test('a claim that was cut off is finished without a request when a minute has passed', async (t) => {
  const { org, owner } = await newOrg();
  await make('FORGOTTEN');
  await claimOnly(org, 'FORGOTTEN', '2 minutes');
  await until('it has its credits', async () => (await balance(owner)) === '5.00', 60_000);
  t.is(listAt((await owner.get(GRANTS)).body, 'items').length, 1);
  refused(t, await redeem(owner, 'FORGOTTEN'), 409, 'PromoCodeUsed');
});

test('an org may try ten codes that do not exist within an hour, also at once, and then not even one that does', async (t) => {
  const { org, owner } = await newOrg();
  const neighbour = await newOrg();
  await make('RIGHT');
  const guesses = await Promise.all(Array.from({ length: 30 }, (_, i) => redeem(owner, `GUESS-${i}`)));
  t.is(guesses.filter(({ status }) => status === 404).length, 10);
  t.is(guesses.filter(({ status }) => status === 429).length, 20);
  const limited = await redeem(owner, 'RIGHT');
  refused(t, limited, 429, 'TooManyRequests');
  const wait = Number(limited.headers.get('retry-after'));
  t.true(wait > 3_500 && wait <= 3_600, `${wait}`);
  t.is((await redeem(neighbour.owner, 'RIGHT')).status, 201, 'others are not limited');
  await inDatabase((database) =>
    database.query(`UPDATE promo_tries SET began = began - interval '1 hour' WHERE org = $1`, [org]),
  );
  t.is((await redeem(owner, 'RIGHT')).status, 201, 'an hour later it may');
});

test('a redemption with an Idempotency-Key is answered again as it was', async (t) => {
  const { owner } = await newOrg();
  await make('KEYED');
  const key = { 'idempotency-key': 'once' };
  const first = await owner.post(REDEMPTIONS, { code: 'KEYED' }, key);
  const second = await owner.post(REDEMPTIONS, { code: 'KEYED' }, key);
  t.deepEqual([first.status, second.status], [201, 201]);
  t.deepEqual(second.body, first.body);
  t.is(second.headers.get('idempotency-replayed'), 'true');
  refused(t, await owner.post(REDEMPTIONS, { code: 'OTHER' }, key), 422, 'IdempotencyKeyReused');
  t.is(await balance(owner), '5.00');
});

test('operators make a code once, see it page by page, and withdraw it for good', async (t) => {
  const code = { code: 'list-a', amountUSD: '2.5', maxRedemptions: 7, expirationTime: '2036-01-01T00:00:00Z' };
  const key = { 'idempotency-key': 'make' };
  const made = await operator.post(CODES, code, key);
  t.is(made.status, 201, made.text);
  const { creationTimestamp, ...shown } = made.body as { creationTimestamp: string };
  t.true(Math.abs(Date.parse(creationTimestamp) - Date.now()) < 60_000);
  t.deepEqual(shown, { ...code, code: 'LIST-A', amountUSD: '2.50', state: 'Active', redemptions: 0 });
  const again = await operator.post(CODES, code, key);
  t.deepEqual([again.status, again.body], [201, made.body]);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  refused(t, await operator.post(CODES, { ...code, amountUSD: '3' }, key), 422, 'IdempotencyKeyReused');
  refused(t, await operator.post(CODES, { ...code, code: 'LIST-A' }), 409, 'AlreadyExists');
  await make('LIST-B');
  const page = await operator.get(`${CODES}?limit=1&continue=LIST`);
  t.deepEqual(
    listAt(page.body, 'items').map((item) => textAt(item, 'code')),
    ['LIST-A'],
  );
  t.is(textAt(page.body, 'metadata', 'continue'), 'LIST-A');
  const next = await operator.get(`${CODES}?limit=1&continue=LIST-A`);
  t.is(textAt(listAt(next.body, 'items')[0], 'code'), 'LIST-B');

  const { owner } = await newOrg();
  t.is((await redeem(owner, 'LIST-A')).status, 201);
  const gone = await operator.remove(`${CODES}/list-a`);
  t.is(textAt(gone.body, 'state'), 'Withdrawn');
  t.is(await balance(owner), '2.50', 'given credits stay');
  refused(t, await operator.post(CODES, code), 409, 'AlreadyExists');
  refused(t, await operator.get(`${CODES}/nobody`), 404, 'NotFound');
  refused(t, await operator.remove(`${CODES}/nobody`), 404, 'NotFound');
  for (const bad of [
    ...[{ amountUSD: '0' }, { amountUSD: '-1' }, { code: 'x' }, { code: 'A B C' }, { maxRedemptions: 0 }],
    ...[{ maxRedemptions: 1.5 }, { creditsExpireAfter: 'soon' }, { creditsExpireAfter: '0s' }, { what: 1 }],
    ...[{ expirationTime: 'tomorrow' }, { note: 'n'.repeat(1025) }],
  ])
    refused(t, await operator.post(CODES, { code: 'VALID', amountUSD: '1', ...bad }), 422, 'Invalid');
  t.is((await operator.get(`${CODES}?what=1`)).status, 400);
});
