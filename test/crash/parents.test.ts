/**
 * The service, its runner, or both are killed at random moments while a Sweep and a Pipeline with fan-in run, and while their states are
 * changed. What must hold afterwards: every cell and every stage came to one success and ran never twice at once, none was lost or made
 * twice, no stage began before what it needs was over and none was given anything else than what that had handed on; a state that was
 * acknowledged has reached all Jobs; what was cancelled or deleted runs nothing any more.
 *
 * `PARENTS_CRASH_ROUNDS` (3; from 10 on with 500 cells and 30 stages) and `CRASH_SEED` (of the clock; printed) repeat or prolong a run.
 */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { type Client, listAt, numberAt, path, textAt } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { flaws, openWatcher } from '../e2e/watcher.js';
import { PIPELINES, SWEEPS } from '../parents/parents.js';
import { chanceFrom } from './chance.js';
import {
  fanInOf,
  graphOf,
  gridOf,
  isOver,
  JOBS,
  jobsOf,
  judgeFanIn,
  judgeGrid,
  sleepersOf,
  waitersOf,
} from './parents.js';
import { runnerOf } from './victims.js';

const ROUNDS = Number(process.env['PARENTS_CRASH_ROUNDS'] ?? 3);
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const WHOLE = ROUNDS >= 10;
const CELLS = WHOLE ? 500 : 40;
const STAGES = WHOLE ? 30 : 10;
/** Cells that run at once, and stages. */
const WINDOWS = WHOLE ? ([16, 4] as const) : ([6, 3] as const);
/** Between a request and the kill, at most. */
const MOST_MS = 30;
/** On a busy machine what takes a second may take many. */
const PATIENCE_MS = 120_000;
const ATTEMPTS = path('attempts', 'default');

type Weapon = 'service' | 'runner' | 'both';
const WEAPONS: readonly Weapon[] = ['service', 'runner', 'both'];

const GRID = `${SWEEPS}/grid`;
const FAN_IN = `${PIPELINES}/fan-in`;
const DOOMED = [`${SWEEPS}/doomed`, `${PIPELINES}/doomed`];
const LEAVING = `${SWEEPS}/leaving`;

async function strike(service: Running, weapon: Weapon, runner: number): Promise<void> {
  // What is killed is gone at once; only what is waited for comes later.
  const killed = weapon === 'runner' ? undefined : service.kill();
  if (weapon !== 'service') process.kill(runner, 'SIGKILL');
  if (killed === undefined) return;
  await killed;
  await service.start();
}

/** This state is stored. A request whose outcome is not known is looked after first, so that one that was heard is not sent twice. */
async function insist(client: Client, at: string, state: string): Promise<void> {
  await until(
    `${at} takes ${state}`,
    async () => {
      const there = await client.get(at);
      if (textAt(there.body, 'spec', 'state') === state) return true;
      await client.merge(at, { spec: { state } });
      return false;
    },
    PATIENCE_MS,
  );
}

/** Every Job that is not over has this state, and is in this phase where one is named. */
async function reached(client: Client, state: string, phase: string | undefined): Promise<void> {
  await until(
    `all Jobs are ${state}`,
    async () => {
      const jobs = [...(await jobsOf(client, 'sweep', 'grid')), ...(await jobsOf(client, 'pipeline', 'fan-in'))];
      const behind = jobs.filter(
        (job) =>
          !isOver(job) &&
          (textAt(job, 'spec', 'state') !== state || (phase !== undefined && textAt(job, 'status', 'phase') !== phase)),
      );
      if (behind.length === 0) return true;
      throw new Error(`behind: ${behind.map((job) => JSON.stringify(job)).join('\n')}`);
    },
    PATIENCE_MS,
  );
}

test.serial(
  `after ${ROUNDS} SIGKILLs of service and runner every cell and stage has succeeded once, and states have reached all Jobs`,
  async (t) => {
    t.timeout(ROUNDS * 60_000 + 600_000);
    t.log(`seed ${SEED}`);
    const chance = chanceFrom(SEED);
    const service = await startRunning(t, { env: { TROUPE_NODE_CPU: '32', TROUPE_NODE_MEMORY: '32Gi' } });
    const client = service.client();
    const watcher = await openWatcher(() => service.client(), JOBS);
    t.teardown(() => watcher.stop());
    const graph = graphOf(STAGES, chance);
    const post = async (at: string, object: unknown): Promise<void> => {
      const answer = await client.post(at, object);
      t.is(answer.status, 201, answer.text);
    };
    await post(SWEEPS, sleepersOf('doomed'));
    await post(PIPELINES, waitersOf('doomed'));
    await post(SWEEPS, sleepersOf('leaving'));
    await post(SWEEPS, gridOf('grid', CELLS, WINDOWS[0]));
    await post(PIPELINES, fanInOf('fan-in', graph, WINDOWS[1]));

    const progress = async (): Promise<number> => {
      const [sweep, pipeline] = await Promise.all([client.get(GRID), client.get(FAN_IN)]);
      const stages = listAt(pipeline.body, 'status', 'stages').filter((each) => textAt(each, 'phase') === 'Succeeded');
      return numberAt(sweep.body, 'status', 'succeeded') + stages.length;
    };
    const step = Math.floor((CELLS + STAGES) / (ROUNDS + 1));
    let weapons: Weapon[] = [];
    const struck: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (weapons.length === 0) weapons = WEAPONS.toSorted(() => chance.below(3) - 1);
      const weapon = weapons.pop() ?? 'both';
      // Suspended in one round, going on in the next, left alone in the third.
      const state = ['Suspended', 'Running', undefined][round % 3];
      if (state !== 'Running') {
        const goal = (await progress()) + chance.below(step);
        await until(`${goal} are over, in round ${round}`, async () => (await progress()) >= goal, PATIENCE_MS);
      }
      const runner = await runnerOf(service);
      const under: Promise<unknown>[] = [];
      if (state !== undefined) under.push(...[GRID, FAN_IN].map((at) => client.merge(at, { spec: { state } })));
      if (round === ROUNDS - 1) {
        under.push(...DOOMED.map((at) => client.merge(at, { spec: { state: 'Cancelled' } })), client.remove(LEAVING));
      }
      // At any time, or when the first of them is acknowledged: what follows from it is then under way.
      if (under.length > 0 && chance.is(0.5)) await Promise.race(under);
      else await delay(chance.below(MOST_MS));
      await strike(service, weapon, runner);
      // What the kill cut off has failed.
      await Promise.allSettled(under);
      struck.push(state === undefined ? weapon : `${weapon} (${state})`);
      if (state !== undefined) {
        await Promise.all([GRID, FAN_IN].map((at) => insist(client, at, state)));
        await reached(client, state, state === 'Suspended' ? 'Suspended' : undefined);
      }
    }
    await Promise.all(DOOMED.map((at) => insist(client, at, 'Cancelled')));
    await Promise.all([GRID, FAN_IN].map((at) => insist(client, at, 'Running')));
    await until('it is deleted', async () => {
      const { status } = await client.get(LEAVING);
      if (status === 200) await client.remove(LEAVING);
      return status === 404;
    });
    for (const at of [GRID, FAN_IN, ...DOOMED]) {
      let last: unknown;
      const over = async (): Promise<boolean> => isOver((last = (await client.get(at)).body));
      await until(`${at} is over`, over, 2 * PATIENCE_MS + CELLS * 1_000).catch((error: unknown) => {
        throw new Error(`${at}: ${JSON.stringify(last)}`, { cause: error });
      });
    }
    t.log(`struck: ${struck.join(', ')}`);

    t.deepEqual(await judgeGrid(client, 'grid', CELLS), []);
    t.deepEqual(await judgeFanIn(client, 'fan-in', graph), []);
    for (const owner of ['sweep', 'pipeline'] as const) {
      for (const job of await jobsOf(client, owner, 'doomed'))
        t.is(textAt(job, 'status', 'phase'), 'Cancelled', JSON.stringify(job));
    }
    await until('its Jobs are gone', async () => (await jobsOf(client, 'sweep', 'leaving')).length === 0, PATIENCE_MS);
    const running = async (): Promise<readonly string[]> =>
      listAt((await client.get(ATTEMPTS)).body, 'items')
        .filter((attempt) => ['Starting', 'Running'].includes(textAt(attempt, 'status', 'phase')))
        .map((attempt) => textAt(attempt, 'metadata', 'name'));
    await until('nothing runs', async () => (await running()).length === 0, PATIENCE_MS);

    t.is(watcher.failure(), undefined);
    t.deepEqual(flaws(watcher, new Set()), [], 'no Job was made twice');
    const deleted = watcher.seen.filter(
      ({ type, object }) => type === 'DELETED' && textAt(object, 'metadata', 'labels', 'svc.dev/sweep') !== 'leaving',
    );
    t.deepEqual(deleted, [], 'none was deleted and made again');
  },
);
