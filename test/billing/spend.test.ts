/** Spending, its export and the runway at a running service, over random postings of several months. */
import { Client as Database } from 'pg';
import test from 'ava';
import fc from 'fast-check';
import { sumUSD, USD } from '../../src/money/usd.js';
import { client, listAt, path, textAt, valueAt, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';

const ENTRIES = path('wallet/entries', '');
const SPEND = path('wallet/spend', '');
const RUNWAY = path('wallet/runway', '');
const DAY_MS = 86_400_000;

let service: Running;
let database: Database;
test.before(async (t) => {
  t.timeout(120_000);
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid' } });
  database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
});
test.after.always(async () => {
  await database?.end();
  await service?.close();
});

async function newOrg(name: string): Promise<{ readonly org: string; readonly owner: Client }> {
  const { body } = await service.client().post('/ops/v1/orgs', { name });
  return { org: textAt(body, 'org'), owner: client(service.url, textAt(body, 'key')) };
}

const posting = fc.record({
  reason: fc.constantFrom('Use', 'Use', 'Use', 'Refund', 'Correction', 'Credit', 'Expiry'),
  daysAgo: fc.double({ min: 0.01, max: 90, noNaN: true }),
  project: fc.constantFrom(null, 'a', 'b', 'default'),
  team: fc.constantFrom(null, 'x', '=y'),
  amount: fc.integer({ min: -1_000_000_000, max: 9_000_000_000 }),
  covered: fc.integer({ min: 0, max: 500_000_000 }),
});

/** Postings without lines: what they change the balance by is not looked at here. */
async function post(org: string, postings: readonly object[]): Promise<void> {
  await database.query(
    `INSERT INTO postings (time, org, key, reason, period, project, labels, counters, amount_usd, covered_usd)
     SELECT at, $1, 'k/' || n, p ->> 'reason', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM'), p ->> 'project',
       CASE WHEN p ->> 'team' IS NULL THEN NULL ELSE jsonb_build_object('team', p ->> 'team') END, '{}',
       (p ->> 'amount')::numeric / 1000000000, (p ->> 'covered')::numeric / 1000000000
     FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS all_of(p, n),
       LATERAL (SELECT now() - (p ->> 'daysAgo')::float8 * interval '1 day' AS at) t`,
    [org, JSON.stringify(postings)],
  );
}

const sumOf = (rows: readonly unknown[], field: string): string =>
  sumUSD(rows.map((row) => new USD(textAt(row, field)))).toFixed();

test('however spending is grouped, its rows add up to the total, to the entries, and to the effective costs of FOCUS', async (t) => {
  const { org, owner } = await newOrg('spending');
  const postings = fc.sample(posting, 400);
  await post(org, postings);
  await post((await newOrg('neighbour')).org, fc.sample(posting, 50));
  const entries = listAt((await owner.get(`${ENTRIES}?limit=1000`)).body, 'items');
  t.is(entries.length, 400);
  const spent = entries.filter((entry) => !['Credit', 'Expiry'].includes(textAt(entry, 'reason')));
  const from = new Date(Date.now() - 100 * DAY_MS).toISOString();
  for (const by of ['day', 'project', 'label:team', 'label:none', 'day,project,label:team', 'project,day']) {
    const answer = await owner.get(`${SPEND}?from=${from}&by=${by}`);
    t.is(answer.status, 200, answer.text);
    const rows = listAt(answer.body, 'items');
    for (const field of ['amountUSD', 'coveredUSD']) {
      t.is(sumOf(rows, field), sumOf(spent, field), by);
      t.is(new USD(textAt(answer.body, 'total', field)).toFixed(), sumOf(spent, field), by);
    }
  }
  const of = async (day: string): Promise<string> =>
    textAt((await owner.get(`${SPEND}?${day}`)).body, 'total', 'amountUSD');
  const day = new Date(Date.now() - 10 * DAY_MS).toISOString().slice(0, 10);
  const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
  const ofDay = spent.filter((entry) => textAt(entry, 'time').startsWith(day));
  t.is(
    new USD(await of(`from=${day}&to=${next}`)).toFixed(),
    sumOf(ofDay, 'amountUSD'),
    'the last moment is not in it',
  );

  const csv = (await owner.get(`${ENTRIES}?format=focus`)).text.trimEnd().split('\r\n');
  const column = csv[0]?.split(',').indexOf('EffectiveCost') ?? -1;
  t.is(sumUSD(csv.slice(1).map((line) => line.split(',')[column] ?? '')).toFixed(), sumOf(spent, 'amountUSD'));

  const last = (ms: number): string =>
    sumOf(
      spent.filter((entry) => Date.parse(textAt(entry, 'time')) >= Date.now() - ms),
      'amountUSD',
    );
  const runway = (await owner.get(RUNWAY)).body;
  t.is(new USD(textAt(runway, 'spentLast7dUSD')).toFixed(), last(7 * DAY_MS));
  t.is(new USD(textAt(runway, 'spentLast24hUSD')).toFixed(), last(DAY_MS));
});

test('the runway of a wallet with credits says when they are gone, and months that were detached are named', async (t) => {
  const { org, owner } = await newOrg('runway');
  const empty = (await owner.get(RUNWAY)).body;
  t.is(textAt(empty, 'message'), 'empty: nothing is available for new work until credits are added');
  await service.client().post('/ops/v1/promocodes', { code: 'RUNWAY', amountUSD: '6' });
  t.is((await owner.post(path('wallet/redemptions', ''), { code: 'RUNWAY' })).status, 201);
  const credited = (await owner.get(RUNWAY)).body;
  t.is(valueAt(credited, 'emptyTime'), undefined);
  t.regex(textAt(credited, 'message'), /nothing bills now/);
  await post(org, [{ reason: 'Use', daysAgo: 0.5, project: null, team: null, amount: 2_000_000_000, covered: 0 }]);
  const { body } = await owner.get(RUNWAY);
  t.is(textAt(body, 'message'), 'empty in 3 days at the rate of the last 24 hours');
  t.deepEqual([textAt(body, 'mode'), textAt(body, 'availableUSD')], ['Prepaid', '6.00']);
  const left = Date.parse(textAt(body, 'emptyTime')) - Date.now();
  t.true(Math.abs(left - 3 * DAY_MS) < 60_000, `${left}`);

  t.deepEqual(valueAt((await owner.get(SPEND)).body, 'missingMonths'), []);
  await database.query(
    `INSERT INTO ledger_months (month, ends, postings, lines, detached_at) VALUES ('2020-02', '2020-03-01Z', 1, 1, now())`,
  );
  const old = await owner.get(`${SPEND}?from=2020-02-29&to=2020-06-01`);
  t.deepEqual(valueAt(old.body, 'missingMonths'), ['2020-02']);
  t.deepEqual(valueAt((await owner.get(`${SPEND}?from=2020-03-01&to=2020-06-01`)).body, 'missingMonths'), []);
});
