/** What work costs: holds that come and go with it, charges that add up, and the caps of Jobs. What the ledger says is read from the database. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import pg from 'pg';
import { listAt, numberAt, objectOf, textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { JOBS, openJobs, outcomeOf, phaseOf, sh, SMALL, type Jobs } from './jobs.js';

const OPS_README = new URL('../../../ops/README.md', import.meta.url);

let jobs: Jobs;
let db: pg.Client;
test.before(async () => {
  jobs = await openJobs();
  db = new pg.Client({ connectionString: jobs.service.databaseUrl });
  await db.connect();
});
test.after.always(async () => {
  await db.end();
  await jobs.close();
});

const uidOf = (job: unknown): string => textAt(job, 'metadata', 'uid');

async function rows(text: string, ...values: unknown[]): Promise<readonly Record<string, string>[]> {
  return (await db.query<Record<string, string>>(text, values)).rows;
}

const spentOn = (uid: string) =>
  rows('SELECT spent_usd, held_usd, holders FROM counters WHERE counter = $1', `cost/${uid}`);

/** Holds of the Job and of its Attempts. */
const holdsFor = (uid: string) => rows('SELECT key FROM holds WHERE $1 = ANY (counters)', `cost/${uid}`);

test('a Job that has run is charged once for its time, holds nothing any more, and its charges add up to zero with their other side', async (t) => {
  const job = await jobs.run('paid', { command: sh('sleep 2'), resources: { ...SMALL, cpu: '1' } });
  t.is(outcomeOf(job), 'Succeeded Completed');
  const uid = uidOf(job);
  await until('the hold is gone', async () => (await holdsFor(uid)).length === 0, 30_000);
  const [counter] = await spentOn(uid);
  const spent = Number(counter?.['spent_usd']);
  // At least two seconds of a core at a cent an hour, and not a minute of it.
  t.true(spent >= (2 * 0.01) / 3600 && spent < 0.011 / 60, String(spent));
  t.is(Number(counter?.['held_usd']), 0);
  const sums = await rows(
    `SELECT p.key, sum(l.amount_usd)::text AS sum FROM postings p JOIN lines l ON (l.org, l.posting, l.time) = (p.org, p.key, p.time)
     WHERE $1 = ANY (p.counters) GROUP BY p.key`,
    `cost/${uid}`,
  );
  t.true(sums.length > 0);
  for (const { sum } of sums) t.is(Number(sum), 0);
  const [posted] = await rows(
    'SELECT sum(amount_usd)::text AS sum FROM postings WHERE $1 = ANY (counters)',
    `cost/${uid}`,
  );
  t.is(Number(posted?.['sum']), spent, 'the counter is the sum of what was posted');
});

test('a Job shows what it costs while it runs and when that is final, its Attempt what it has cost, and the audit of the ledger finds nothing', async (t) => {
  await jobs.post('shown', { command: sh('exec sleep 600'), resources: { ...SMALL, cpu: '1' }, maxCostUSD: '3' });
  const cost = (job: unknown, field: string): unknown => valueAt(job, 'status', 'cost', field);
  const running = await jobs.once('shown', 'shows its rate', (job) => cost(job, 'rateUSDPerHour') !== undefined);
  // A core at a cent an hour, and its memory.
  t.regex(String(cost(running, 'rateUSDPerHour')), /^0\.01\d*$/);
  t.is(cost(running, 'limitUSD'), '3.00');
  t.is(cost(running, 'final'), false);
  t.true(Date.parse(String(cost(running, 'fundedUntilTime'))) > Date.now());
  t.is((await jobs.client().merge(`${JOBS}/shown`, { spec: { state: 'Cancelled' } })).status, 200);
  const last = await jobs.once('shown', 'is final', (job) => cost(job, 'final') === true);
  t.is(phaseOf(last), 'Cancelled');
  t.is(cost(last, 'heldUSD'), '0.00');
  t.is(cost(last, 'rateUSDPerHour'), undefined);
  const [counter] = await spentOn(uidOf(last));
  const total = String(cost(last, 'totalUSD'));
  t.true(Number(total) > 0);
  t.is(Number(total), Number(counter?.['spent_usd']));
  const actual = await until('the Attempt shows it', async () => {
    const [attempt] = await jobs.attempts('shown');
    const found = valueAt(attempt?.body, 'status', 'actual') as { costUSD?: string; hours?: number } | undefined;
    return found?.costUSD === total ? found : undefined;
  });
  t.true(Number(actual.hours) > 0);

  const audit = async () => (await jobs.client().get('/ops/v1/ledger')).body;
  t.is((await jobs.client().post('/ops/v1/ledger/audits', {})).status, 202);
  const passed = await until('a pass ends', async () => {
    const seen = await audit();
    return valueAt(seen, 'running') === false && Number(valueAt(seen, 'lastPass', 'lines')) > 0 && seen;
  });
  t.deepEqual(valueAt(passed, 'findings'), []);
  t.false((await jobs.client().get('/readyz')).text.includes('ledger'));
  await until('metrics are of this second', async () =>
    /troupe_ledger_last_audit_timestamp_seconds [1-9]/.test((await jobs.client().get('/metrics')).text),
  );
  const { text } = await jobs.client().get('/metrics');
  t.regex(text, /troupe_ledger_findings 0/);
  const [, documented = ''] = readFileSync(OPS_README, 'utf8').split('\n## Metrics\n');
  const names = [...(documented.split('\n## ')[0] ?? '').matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, name]) => name);
  t.true(names.includes('ledger_findings'));
  for (const name of names) t.regex(text, new RegExp(`^# HELP troupe_${name} \\S`, 'm'));
});

test('work holds money from its create on, and gives it up when it is suspended', async (t) => {
  const job = await jobs.post('waits', { command: sh('exec sleep 600') });
  const uid = uidOf(job);
  t.is((await holdsFor(uid)).length, 1, 'of the Job, or of its Attempt in the queue');
  t.is((await jobs.client().merge(`${JOBS}/waits`, { spec: { state: 'Suspended' } })).status, 200);
  await until('nothing is held', async () => (await holdsFor(uid)).length === 0, 30_000);
  t.is((await jobs.client().remove(`${JOBS}/waits`)).status, 200);
});

test('a cap below the first hold refuses the create, and nothing is made or held', async (t) => {
  const answer = await jobs.client().post(JOBS, objectOf('Job', 'capped', { command: ['true'], maxCostUSD: '0.0001' }));
  t.true([402, 422].includes(answer.status), answer.text);
  t.is((await jobs.client().get(`${JOBS}/capped`)).status, 404);
  t.deepEqual(await rows('SELECT uid FROM caps WHERE limit_usd = 0.0001'), []);
});

test('an index that finds no room below the cap waits while others run, and begins when the cap is raised', async (t) => {
  // A minute and a reserve at a cent an hour are 0.00034: one Attempt fits, two do not.
  await jobs.post('two', {
    command: sh('exec sleep 600'),
    completions: 2,
    parallelism: 2,
    maxCostUSD: '0.0005',
    resources: { ...SMALL, cpu: '1' },
    state: 'Running',
  });
  await jobs.once('two', 'runs and says why', (seen) => outcomeOf(seen) === 'Running MaxCostReached');
  t.is((await jobs.client().merge(`${JOBS}/two`, { spec: { maxCostUSD: '1.00' } })).status, 200);
  const on = await jobs.once('two', 'goes on', (seen) => {
    return numberAt(seen, 'status', 'active') === 2 && textAt(seen, 'status', 'reason') !== 'MaxCostReached';
  });
  t.is(valueAt(on, 'status', 'failed') === undefined ? 0 : numberAt(on, 'status', 'failed'), 0);
  t.is((await jobs.client().remove(`${JOBS}/two`)).status, 200);
});

test('once like work has run, an estimate is how long that took, and what failed says nothing', async (t) => {
  const spec = { command: sh('sleep 1; : alike'), resources: SMALL };
  const estimateOf = async (more: object = {}): Promise<unknown> => {
    const rehearsed = await jobs.client().post(`${JOBS}?dryRun=All`, objectOf('Job', 'like', { ...spec, ...more }));
    t.is(rehearsed.status, 201, rehearsed.text);
    return valueAt(rehearsed.body, 'status', 'estimate');
  };
  const codeOf = (estimate: unknown): string =>
    listAt(estimate, 'warnings')
      .map((warning) => textAt(warning, 'code'))
      .join();
  const before = await estimateOf();
  t.is(codeOf(before), 'DurationUnknown');
  const failing = await jobs.run('unlike', { ...spec, command: sh('sleep 1; exit 3'), backoffLimit: 0 });
  t.is(phaseOf(failing), 'Failed');
  await jobs.run('first-of-its-like', { ...spec, completions: 2, parallelism: 2 });
  await until('its runs are known', async () => codeOf(await estimateOf()) === 'LittleHistory', 30_000);
  const learned = await estimateOf({ expectedDuration: '1h' });
  t.true(Number(textAt(learned, 'costUSD', 'p90')) < Number(textAt(before, 'costUSD', 'p50')), JSON.stringify(learned));
  t.true(Number(textAt(learned, 'costUSD', 'p50')) > 0);
  t.is(codeOf(await estimateOf({ command: sh('sleep 1; exit 3') })), 'DurationUnknown', 'what failed is no measure');
  await until('they are written down', async () => {
    const found = await rows("SELECT run_ms[1] AS ms FROM run_history WHERE likeness LIKE '%: alike%'");
    return found.length === 1 && Number(found[0]?.['ms']) >= 1_000;
  });
});
