/** What the ledger hears of work that goes on. */
import test from 'ava';
import { AFTER_MS, openBegunWork } from '../../../actors/money/begun-work.js';
import { encodeObject } from '../../../src/api/encode.js';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import { payerAnnotations } from '../../../src/kinds/attempts/payer.js';
import { termsAnnotations } from '../../../src/kinds/attempts/terms.js';
import type { LedgerResult } from '../../../storage/commit/request.js';
import { objectOf } from '../../kinds/decide.js';

const ACQUIRED = '2026-01-02T03:04:05.000Z';
const STARTED = '2026-01-02T03:04:06.000Z';
const BOOTS = { acquiredTime: ACQUIRED };
const RUNS = { acquiredTime: ACQUIRED, commandStartedTime: STARTED };
const annotations = {
  ...termsAnnotations('pricebook=2026-01,offering=cpu-local,rate=1,increment=1s,minimum=0.00'),
  ...payerAnnotations({ project: 'a', labels: {}, costs: [] }),
};

function attempt(uid: string, phase: AttemptStatus['phase'], timings: AttemptStatus['timings']): Buffer {
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'a', uid, annotations });
  return encodeObject({ ...object, status: { ...(object.status as AttemptStatus), phase, timings } });
}

interface World {
  readonly bodies: Map<string, Buffer>;
  readonly ended: Set<string>;
  /** What the ledger has heard, a member each: `<key> <segments>`. */
  readonly members: string[][];
  readonly funded: [string, number | undefined][];
  readonly problems: string[];
  answer: 'Committed' | 'Unavailable';
}

/** `script` runs as a round begins; it says how far the clock is (ms), or ends it all. */
async function rounds(
  noted: readonly string[],
  script: (round: number, world: World) => number | 'End',
): Promise<World> {
  const world: World = {
    ...{ bodies: new Map(), ended: new Set(), members: [], funded: [], problems: [], answer: 'Committed' },
  };
  const stop = new AbortController();
  let now = 0;
  let round = 0;
  let running = false;
  const begun = openBegunWork({
    attempts: {
      find: (uid) =>
        world.ended.has(uid)
          ? { found: 'Ended' }
          : { found: 'Live', epoch: 1, address: { org: 'o', kind: 'Attempt', project: 'a', name: uid } },
    },
    read: ({ name }) => Promise.resolve(world.bodies.get(name)),
    ledger(_org, operations): Promise<LedgerResult> {
      const segments = new Map<string, string[]>();
      for (const one of operations)
        if (one.op === 'Bill') segments.set(one.key, [...(segments.get(one.key) ?? []), one.segment]);
      world.members.push([...segments].map(([key, some]) => `${key} ${some.join('+')}`));
      if (world.answer === 'Unavailable') return Promise.resolve({ outcome: 'Unavailable', message: 'away' });
      const results = operations.map(
        (_, i) => ({ outcome: 'Applied', fundedUntil: 1_000 + i, limited: true }) as const,
      );
      return Promise.resolve({ outcome: 'Committed', results });
    },
    fund: (uid, until) => void world.funded.push([uid, until]),
    monotonic() {
      if (!running) return now;
      const next = script(round, world);
      round += 1;
      if (next === 'End') stop.abort();
      else now = next;
      return now;
    },
    onProblem: (message) => void world.problems.push(message),
  });
  for (const uid of noted) begun.note(uid, { org: 'o', kind: 'Attempt', project: 'a', name: uid });
  running = true;
  await begun.run(stop.signal);
  return world;
}

test('work that is over before it is looked at costs the ledger nothing beside its own commits', async (t) => {
  const world = await rounds(['short', 'gone'], (round, { bodies, ended }) => {
    bodies.set('short', attempt('short', 'Running', RUNS));
    if (round === 0) return AFTER_MS - 1;
    ended.add('short');
    return round < 3 ? AFTER_MS * 2 : 'End';
  });
  t.deepEqual([world.members, world.problems], [[], []]);
});

test('of work that goes on the ledger hears once what is billed, and the engine how long it is paid', async (t) => {
  const world = await rounds(['a', 'b'], (round, { bodies }) => {
    bodies.set('a', attempt('a', 'Running', RUNS));
    bodies.set('b', attempt('another', 'Running', RUNS));
    return round < 3 ? AFTER_MS * (round + 1) : 'End';
  });
  t.deepEqual(world.members, [['a Boot+Running']], 'the ledger hears of no other incarnation under this uid');
  t.deepEqual(world.funded, [['a', 1_001]]);
});

test('the ledger hears of a long boot, and of the start when that comes', async (t) => {
  const world = await rounds(['a'], (round, { bodies }) => {
    bodies.set('a', round < 3 ? attempt('a', 'Provisioning', BOOTS) : attempt('a', 'Running', RUNS));
    return round < 5 ? AFTER_MS * (round + 1) : 'End';
  });
  t.deepEqual(world.members, [['a Boot'], ['a Boot+Running']]);
});

test('what the ledger does not take is sent again, and reported once', async (t) => {
  const world = await rounds(['a'], (round, known) => {
    known.bodies.set('a', attempt('a', 'Running', RUNS));
    known.answer = round < 2 ? 'Unavailable' : 'Committed';
    return round < 4 ? AFTER_MS : 'End';
  });
  t.true(world.members.length >= 2);
  t.deepEqual([world.funded.length, world.problems.length], [1, 1]);
});
