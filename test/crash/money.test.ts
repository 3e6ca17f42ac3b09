/**
 * The service, its runner, both, or Postgres are killed at random moments while Jobs, Sandboxes and a Sweep with a cap cost money, and while
 * Budgets are made, raised, lowered and deleted; and once the service is away for longer than work was paid for. What must hold (I7): no limit
 * was passed at any time; after each kill the auditor finds nothing, what runs holds money and what holds money runs; at the end nothing
 * is held, every object says what was posted for it and says once that this is final, and what a Budget has left can be had to the last nano.
 *
 * `MONEY_CRASH_ROUNDS` (2, in CI 4: each of what is killed once) and `CRASH_SEED` (of the clock; printed) repeat or prolong a run. From 10
 * rounds on the service is away in truth, for more than two minutes; in fewer, what is billed is made older meanwhile.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { readPidFile } from '../../src/app/postgres/pid-file.js';
import { listAt, objectOf, textAt, valueAt, type Client } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openWatcher, type Watcher } from '../e2e/watcher.js';
import { sh } from '../jobs/jobs.js';
import { SWEEPS } from '../parents/parents.js';
import { SANDBOXES } from '../sandboxes/sandboxes.js';
import { amount } from '../support/extent.js';
import { chanceFrom } from './chance.js';
import { findingsOf } from './findings.js';
import { openLedgerWitness, type LedgerWitness } from './ledger-witness.js';
import { BUDGETS, FIRST_HOLD_USD, JOBS, ONE_CPU, openSpenders, writePrices, type Spenders } from './money.js';
import { isOver } from './parents.js';
import { openDatabaseUrl, runnerOf } from './victims.js';

const ROUNDS = amount('MONEY_CRASH_ROUNDS', 2, 4);
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const WHOLE = ROUNDS >= 10;
/** Things acknowledged between two kills, at most. */
const MOST_DONE = 14;
/** Between the last of them and the kill, at most. */
const MOST_MS = 60;
/** Longer than a hold of one unit lasts, with its reserve. */
const AWAY_MS = 135_000;
const AGED_MS = 2 * 3_600_000;
/** On a busy machine what takes a second may take many. */
const PATIENCE_MS = 120_000;

type Weapon = 'service' | 'runner' | 'both' | 'postgres';
const WEAPONS: readonly Weapon[] = ['service', 'runner', 'both', 'postgres'];

async function strike(service: Running, weapon: Weapon): Promise<void> {
  if (weapon === 'postgres') {
    const postmaster = () => readPidFile(join(service.dataDir, 'postgres', 'cluster'));
    const { pid = 0 } = (await postmaster()) ?? {};
    process.kill(pid, 'SIGKILL');
    const again = async (): Promise<boolean> => {
      const found = await postmaster();
      return found?.phase === 'Ready' && found.pid !== pid;
    };
    await until('Postgres is another process', again, PATIENCE_MS);
    return service.ready();
  }
  const runner = await runnerOf(service);
  const killed = weapon === 'runner' ? undefined : service.kill();
  if (weapon !== 'service') process.kill(runner, 'SIGKILL');
  if (killed === undefined) return;
  await killed;
  await service.start();
}

/** Of each Job, what it said of its cost after it had said that this is final. */
function changedMinds(watcher: Watcher): readonly string[] {
  const final = new Map<string, string>();
  const found: string[] = [];
  for (const { object, type } of watcher.seen) {
    if (type === 'DELETED') continue;
    const uid = textAt(object, 'metadata', 'uid');
    const cost = JSON.stringify(valueAt(object, 'status', 'cost'));
    const known = final.get(uid);
    if (known !== undefined && known !== cost) found.push(`${textAt(object, 'metadata', 'name')}: ${known} ${cost}`);
    if (valueAt(object, 'status', 'cost', 'final') === true) final.set(uid, cost);
  }
  return found;
}

/** A Job that may spend exactly what it holds at first, and never ends by itself. */
async function openFrugal(client: Client): Promise<string> {
  const spec = { ...ONE_CPU, command: sh('exec sleep 36000'), maxCostUSD: FIRST_HOLD_USD };
  await until(
    'it is made',
    async () =>
      [201, 409].includes(
        (await client.post(JOBS, objectOf('Job', 'frugal', spec, { labels: { team: 'frugal' } }))).status,
      ),
    PATIENCE_MS,
  );
  const at = `${JOBS}/frugal`;
  await until(
    'it is billed',
    async () => textAt((await client.get(at)).body, 'status', 'cost', 'fundedUntilTime') !== '',
    PATIENCE_MS,
  );
  return at;
}

/** The service is away until nothing is paid any more; the runner goes on meanwhile. */
async function beAway(service: Running, witness: LedgerWitness): Promise<void> {
  await service.kill();
  if (WHOLE) await delay(AWAY_MS);
  else await witness.age(AGED_MS);
  await service.start();
}

/** To the last nano: what one Budget for all has left is given to who needs just that, and not to who needs more. */
async function exhaust(client: Client, witness: LedgerWitness): Promise<readonly string[]> {
  const uid = textAt((await client.get(`${BUDGETS}/all`)).body, 'metadata', 'uid');
  const found: string[] = [];
  for (const [nanos, wanted] of [
    [-1, 402],
    [0, 201],
  ] as const) {
    const [limit = ''] = await witness.lines(
      `SELECT (spent_usd + $2::numeric + $3::numeric / 1000000000)::numeric(20, 9)::text FROM counters WHERE counter = $1`,
      ...[`budget/${uid}/total`, FIRST_HOLD_USD, nanos],
    );
    const lowered = await client.merge(`${BUDGETS}/all`, { spec: { limitUSD: limit } });
    if (lowered.status !== 200) found.push(lowered.text);
    const made = await client.post(JOBS, objectOf('Job', 'last', { ...ONE_CPU, command: sh('true') }));
    if (made.status !== wanted) found.push(`${nanos} nanos more than it needs are left: ${made.text}`);
  }
  return found;
}

test.serial(
  `after ${ROUNDS} SIGKILLs no limit was passed, all is paid that ran, and nothing is held by what is gone`,
  async (t) => {
    t.timeout(ROUNDS * 60_000 + 600_000);
    t.log(`seed ${SEED}`);
    const chance = chanceFrom(SEED);
    const prices = await mkdtemp(join(tmpdir(), 'troupe-prices-'));
    t.teardown(() => rm(prices, { recursive: true, force: true }));
    await writePrices(join(prices, 'pricebook.yaml'));
    const env = { TROUPE_NODE_CPU: '64', TROUPE_NODE_MEMORY: '32Gi', TROUPE_PRICEBOOK: join(prices, 'pricebook.yaml') };
    const service = await startRunning(t, { databaseUrl: 'embedded', env });
    const client = service.client();
    const witness = await openLedgerWitness(() => openDatabaseUrl(service));
    const watcher = await openWatcher(() => service.client(), JOBS);
    t.teardown(() => watcher.stop());
    const clean = async (when: string): Promise<void> => {
      t.deepEqual(await witness.passed(), [], `limits passed, ${when}`);
      t.deepEqual(await witness.unmatched(), [], `work and holds, ${when}`);
      let resting: readonly string[] = [];
      const empty = async (): Promise<boolean> => (resting = await witness.resting()).length === 0;
      await until('nothing at rest holds money', empty).catch(() => t.deepEqual(resting, [], when));
      t.deepEqual(await findingsOf(service), [], `the auditor, ${when}`);
    };

    const stop = new AbortController();
    t.teardown(() => stop.abort());
    const spenders: Spenders = openSpenders(() => service.client(), SEED);
    const under = spenders.run(stop.signal);
    let weapons: Weapon[] = [];
    const struck: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (weapons.length === 0) weapons = WEAPONS.toSorted(() => chance.below(3) - 1);
      const weapon = weapons.pop() ?? 'both';
      const goal = spenders.done() + 1 + chance.below(MOST_DONE);
      await until(`${goal} things are done, in round ${round}`, () => spenders.done() >= goal, PATIENCE_MS);
      await delay(chance.below(MOST_MS));
      await strike(service, weapon);
      struck.push(weapon);
      await clean(`in round ${round} after ${struck.join(', ')}`);
    }
    stop.abort();
    await under;
    t.log(`struck: ${struck.join(', ')}; ${spenders.summary()}`);

    // The last limit of the load may be below what is spent.
    await client.merge(`${BUDGETS}/all`, { spec: { limitUSD: '1000.00' } });
    const frugal = await openFrugal(client);
    await beAway(service, witness);
    const suspended = await until(
      'it is at its cap',
      async () => {
        const { body } = await client.get(frugal);
        return textAt(body, 'status', 'reason') === 'MaxCostReached' && body;
      },
      PATIENCE_MS,
    );
    t.is(textAt(suspended, 'status', 'phase'), 'Suspended');
    await clean('after the service was away');
    // Everything that is not over is ended.
    await client.merge(frugal, { spec: { state: 'Cancelled' } });
    await until(
      'the Sweep is over',
      async () => {
        const { body } = await client.get(`${SWEEPS}/capped`);
        if (isOver(body) || textAt(body, 'code') === '404') return true;
        await client.merge(`${SWEEPS}/capped`, { spec: { state: 'Cancelled' } });
        return false;
      },
      PATIENCE_MS,
    );
    for (const job of listAt((await client.get(JOBS)).body, 'items'))
      if (!isOver(job))
        await client.merge(`${JOBS}/${textAt(job, 'metadata', 'name')}`, { spec: { state: 'Cancelled' } });
    for (const box of listAt((await client.get(SANDBOXES)).body, 'items'))
      await client.remove(`${SANDBOXES}/${textAt(box, 'metadata', 'name')}`);
    let left: readonly string[] = [];
    await until('nothing is held', async () => (left = await witness.left()).length === 0, PATIENCE_MS).catch(
      (error: unknown) => {
        throw new Error(left.join('\n'), { cause: error });
      },
    );
    await until(
      'every object says what it cost',
      async () => (left = await witness.mistold()).length === 0,
      PATIENCE_MS,
    ).catch((error: unknown) => {
      throw new Error(left.join('\n'), { cause: error });
    });
    const paid = (await client.get(frugal)).body;
    t.true(Number(textAt(paid, 'status', 'cost', 'totalUSD')) <= Number(FIRST_HOLD_USD), JSON.stringify(paid));
    t.true(
      listAt(paid, 'status', 'cost', 'bySegment', 'coveredBySvc').length > 0,
      JSON.stringify(valueAt(paid, 'status', 'cost')),
    );
    await clean('at the end');
    t.deepEqual(changedMinds(watcher), [], 'costs that changed after they were final');
    t.deepEqual(await exhaust(client, witness), [], 'what is left can be had, and no more');
    t.is(watcher.failure(), undefined);
  },
);
