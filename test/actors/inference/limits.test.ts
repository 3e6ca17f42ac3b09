/** The limits of endpoints over a real Postgres: what a killed process has used is known to the next, and few statements do it. */
import test, { type ExecutionContext } from 'ava';
import {
  openLimits,
  type EndpointLimits,
  type InferenceLimits,
  type LimitDecision,
} from '../../../actors/inference/limits.js';
import { RefusalError } from '../../../src/api/refusal.js';
import { openWindowRows, type WindowRows } from '../../../storage/inference/windows.js';
import { migrate } from '../../../storage/migrate.js';
import { openPostgres, type Postgres } from '../../../storage/postgres.js';
import { openTestDatabase } from '../../support/postgres.js';
import { until } from '../../e2e/until.js';

const LIMITS: EndpointLimits = { maxConcurrent: 256, rpm: 1_000, tpm: 100_000 };

/** What is written, beside Postgres: how many statements, and how many at once. */
interface Watched extends WindowRows {
  writes: number;
  loads: number;
  atOnce: number;
  mostAtOnce: number;
  /** Before each write. */
  before: () => Promise<void>;
}

interface World {
  readonly postgres: Postgres;
  readonly rows: Watched;
  now: number;
  /** A process that has just got the lease. Nothing ends the one before: it was killed. */
  lead(most?: number): Promise<InferenceLimits>;
  /** Where the newest one no longer has the lease. */
  lost: boolean;
}

function watch(rows: WindowRows): Watched {
  const watched: Watched = {
    ...{ writes: 0, loads: 0, atOnce: 0, mostAtOnce: 0, before: () => Promise.resolve() },
    async load(keys) {
      watched.loads += 1;
      return rows.load(keys);
    },
    async write(epoch, writes) {
      watched.writes += 1;
      watched.atOnce += 1;
      watched.mostAtOnce = Math.max(watched.mostAtOnce, watched.atOnce);
      try {
        await watched.before();
        return await rows.write(epoch, writes);
      } finally {
        watched.atOnce -= 1;
      }
    },
    forget: (epoch, olderThanMs, limit) => rows.forget(epoch, olderThanMs, limit),
  };
  return watched;
}

async function open(t: ExecutionContext): Promise<World> {
  const database = await openTestDatabase();
  const postgres = openPostgres({ url: database.url });
  const opened: InferenceLimits[] = [];
  t.teardown(async () => {
    await Promise.all(opened.map((limits) => limits.close()));
    await postgres.close();
    await database.close();
  });
  await migrate(postgres);
  let epoch = 0;
  const world: World = {
    ...{ postgres, rows: watch(openWindowRows(postgres)), now: Date.now(), lost: false },
    async lead(most) {
      epoch += 1;
      const lease = { epoch, held: () => !world.lost };
      await postgres.write({ name: 'lead', text: 'UPDATE clock SET epoch = $1' }, [epoch]);
      const limits = openLimits({
        ...{ rows: world.rows, lease, clock: () => world.now, most },
        onProblem: () => undefined,
      });
      opened.push(limits);
      return limits;
    },
  };
  return world;
}

const of = (uid: string): { org: string; uid: string } => ({ org: 'o-1', uid });

/** Takes until refused or `most`; how many were admitted. */
async function takeAll(
  limits: InferenceLimits,
  uid: string,
  most = Infinity,
  how = LIMITS,
  tokens = 1,
): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    const decision = await limits.take(of(uid), how, tokens);
    if (decision.outcome === 'Refused') return count;
    decision.release(tokens);
  }
  return most;
}

async function refusalOf(promise: LimitDecision | Promise<LimitDecision>): Promise<string> {
  try {
    return (await promise).outcome;
  } catch (error) {
    return error instanceof RefusalError ? error.refusal.code : 'another error';
  }
}

test('what a killed process has let through is known to the next one to within 2 percent, at any moment', async (t) => {
  const world = await open(t);
  for (const used of [1, 7, 333, 900]) {
    const uid = `e-${used}`;
    t.is(await takeAll(await world.lead(), uid, used), used);
    const left = await takeAll(await world.lead(), uid);
    t.true(left <= 1_000 - used, `${used} were used and ${left} are let through`);
    t.true(left >= 1_000 - used - 20, `${used} were used and only ${left} are left`);
  }
});

test('tokens that were given back are there after a kill, those of running requests are not', async (t) => {
  const world = await open(t);
  const first = await world.lead();
  const done = await first.take(of('e'), LIMITS, 60_000);
  const running = await first.take(of('e'), LIMITS, 20_000);
  if (done.outcome === 'Refused' || running.outcome === 'Refused') return t.fail();
  const { writes } = world.rows;
  done.release(1_000);
  await until(
    'what was given back is written',
    async () => world.rows.writes > writes && world.rows.atOnce === 0,
    5_000,
  );
  const next = await world.lead();
  const state = (await next.take(of('e'), LIMITS, 0)).state.tokens;
  t.true((state?.remaining ?? 0) <= 79_000 && (state?.remaining ?? 0) >= 77_000, JSON.stringify(state));
});

test('a process that ends in order leaves exactly what was used', async (t) => {
  const world = await open(t);
  const first = await world.lead();
  t.is(await takeAll(first, 'e', 5, LIMITS, 100), 5);
  await first.close();
  t.is(await refusalOf(first.take(of('e'), LIMITS, 0)), 'Unavailable');
  const { state } = await (await world.lead()).take(of('e'), LIMITS, 0);
  t.like(state, { requests: { remaining: 994 }, tokens: { remaining: 99_500 } });
});

test('a process that another has replaced lets nothing through, and changes no row', async (t) => {
  const world = await open(t);
  const old = await world.lead();
  t.is(await takeAll(old, 'e', 3), 3);
  const next = await world.lead();
  t.is(await takeAll(next, 'e', 500), 500);
  const [before] = await world.rows.load([of('e')]);
  // It has some left that was written ahead; all that needs a write is refused.
  t.true((await takeAll(old, 'e', 17)) <= 17);
  t.is(await refusalOf(old.take(of('other'), LIMITS, 0)), 'Unavailable');
  await old.close();
  t.deepEqual(await world.rows.load([of('e')]), [before]);
  world.lost = true;
  t.is(await refusalOf(next.take(of('e'), LIMITS, 0)), 'Unavailable', 'one that knows it does not even look');
});

test('requests at once are counted, and a place is given back once', async (t) => {
  const world = await open(t);
  const limits = await world.lead();
  const two = { ...LIMITS, maxConcurrent: 2 };
  const decisions = await Promise.all([1, 2, 3].map(async () => limits.take(of('e'), two, 0)));
  t.deepEqual(
    decisions.map((each) => (each.outcome === 'Refused' ? each.by : each.outcome)),
    ['Admitted', 'Admitted', 'maxConcurrent'],
  );
  const [first] = decisions;
  if (first?.outcome !== 'Admitted') return t.fail();
  first.release(0);
  first.release(0);
  t.is((await limits.take(of('e'), two, 0)).outcome, 'Admitted');
  t.like(await limits.take(of('e'), two, 0), { outcome: 'Refused', by: 'maxConcurrent', retryAfterSeconds: 1 });
});

test('refusals cost no write', async (t) => {
  const world = await open(t);
  const limits = await world.lead();
  const few = { maxConcurrent: 1, rpm: 5 };
  t.is(await takeAll(limits, 'e', Infinity, few), 5);
  await until('nothing is to be written', async () => world.rows.atOnce === 0, 5_000);
  await limits.take(of('e'), few, 0);
  const { writes, loads } = world.rows;
  for (let i = 0; i < 1_000; i += 1)
    t.like(await limits.take(of('e'), few, 0), { outcome: 'Refused', by: 'rpm', retryAfterSeconds: 61 });
  t.true(world.rows.writes <= writes + 1, 'the last admitted one may be noted');
  t.is(world.rows.loads, loads);
});

test('many endpoints cost few statements, one at a time', async (t) => {
  const world = await open(t);
  const limits = await world.lead();
  const asked = Array.from({ length: 900 }, async (_, i) => limits.take(of(`e-${i}`), LIMITS, 10));
  const decisions = await Promise.all(asked);
  t.true(decisions.every(({ outcome }) => outcome === 'Admitted'));
  t.true(world.rows.loads <= 4, `${world.rows.loads} reads`);
  t.true(world.rows.writes <= 6, `${world.rows.writes} writes`);
  t.is(world.rows.mostAtOnce, 1);
});

test('while storage takes nothing, what needs a write is refused and not counted, and goes on when it does again', async (t) => {
  const world = await open(t);
  const limits = await world.lead();
  const one = { maxConcurrent: 2, rpm: 3 };
  const broken = (): Promise<void> => Promise.reject(new RefusalError({ code: 'Unavailable', message: 'gone' }));
  world.rows.before = broken;
  for (let i = 0; i < 5; i += 1) t.is(await refusalOf(limits.take(of('e'), one, 0)), 'Unavailable');
  world.rows.before = () => Promise.resolve();
  t.is(await takeAll(limits, 'e', Infinity, one), 3);
});

test('where memory has no room, endpoints at rest are written and make it, and come back as they were', async (t) => {
  const world = await open(t);
  // Of one org half of it.
  const limits = await world.lead(6);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of names) t.is(await takeAll(limits, name, 4, LIMITS, 100), 4);
  for (const name of names) {
    const decision = await limits.take(of(name), LIMITS, 0);
    t.like(decision.state, { requests: { remaining: 995 }, tokens: { remaining: 99_600 } }, name);
    if (decision.outcome === 'Admitted') decision.release(0);
  }
  const busy = await Promise.all(['a', 'b', 'c'].map(async (name) => limits.take(of(name), LIMITS, 0)));
  t.is(await refusalOf(limits.take(of('d'), LIMITS, 0)), 'Unavailable', 'all are busy');
  t.is((await limits.take({ org: 'another', uid: 'x' }, LIMITS, 0)).outcome, 'Admitted', 'the rest is for others');
  for (const decision of busy) if (decision.outcome === 'Admitted') decision.release(0);
  t.is((await limits.take(of('d'), LIMITS, 0)).outcome, 'Admitted');
});

test('a minute after its last request an endpoint has all of its limits again', async (t) => {
  const world = await open(t);
  const limits = await world.lead();
  const few = { maxConcurrent: 9, rpm: 5 };
  t.is(await takeAll(limits, 'e', Infinity, few), 5);
  world.now += 60_000 - (world.now % 1_000);
  t.is(await takeAll(limits, 'e', Infinity, few), 0);
  world.now += 1_000;
  t.is(await takeAll(limits, 'e', Infinity, few), 5);
});
