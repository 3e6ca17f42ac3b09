/** What money has refused is woken when there is money for it: in order, as much as fits, and nothing else. */
import test from 'ava';
import { fitting, openWaitingWork, type WaitingWork } from '../../../actors/money/waiting-work.js';
import type { Delivery } from '../../../actors/mailbox.js';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import type { CounterRoom } from '../../../storage/ledger/limited-counters.js';

const BUDGET = 'budget/b/total';
const CAP = 'cost/job';
const NOVEMBER = Date.parse('2026-11-20T00:00:00Z');

type AwaitMoney = Extract<LaterEffect, { type: 'AwaitMoney' }>;

function wait(since: number, more: Partial<AwaitMoney> = {}): AwaitMoney {
  return { type: 'AwaitMoney', counter: BUDGET, neededUSD: '2', count: 1, since, ...more };
}

interface World {
  readonly work: WaitingWork;
  readonly told: [uid: string, message: ObjectMessage][];
  /** By counter. */
  readonly rooms: Map<string, Omit<CounterRoom, 'org' | 'counter'>>;
  /** Refused renewals, by key. */
  readonly refused: Map<string, string>;
  /** Those who want nothing more. */
  readonly gone: Set<string>;
  now: number;
  answer: Delivery;
  /** Carries out this many rounds. */
  rounds(count: number): Promise<void>;
}

function open(): World {
  let left = 0;
  let stop = new AbortController();
  const rows = {
    rooms: (names: readonly { readonly org: string; readonly counter: string }[]) =>
      Promise.resolve(names.map(({ org, counter }) => ({ org, counter, ...(world.rooms.get(counter) ?? NO_LIMIT) }))),
    refusing() {
      left -= 1;
      if (left <= 0) stop.abort();
      return Promise.resolve([...new Set(world.refused.values())].map((counter) => ({ org: 'o', counter })));
    },
    refusedBy: (names: readonly { readonly counter: string }[]) =>
      Promise.resolve(
        [...world.refused]
          .filter(([, counter]) => names.some((name) => name.counter === counter))
          .map(([key, counter]) => ({
            ...{ org: 'o', counter, key, sequence: 1, placedAt: 0, lacksUSD: '2' },
            owner: { uid: key, kind: 'Attempt', project: 'default', name: key },
          })),
      ),
  };
  const work = openWaitingWork({
    rows,
    send(_to, uid, message) {
      world.told.push([uid, message]);
      return Promise.resolve(world.answer);
    },
    wants: (_owner, uid) => Promise.resolve(!world.gone.has(uid)),
    clock: () => world.now,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
  const world: World = {
    ...{ work, told: [], rooms: new Map(), refused: new Map(), gone: new Set(), now: NOVEMBER, answer: 'Done' },
    async rounds(count) {
      for (let i = 0; i < count; i++) {
        [left, stop] = [1, new AbortController()];
        await work.run(stop.signal);
        world.now += 10_000;
      }
    },
  };
  return world;
}

const NO_LIMIT = { availableUSD: '0', heldUSD: '0' };
const LEFT = (availableUSD: string, limitUSD = '10', heldUSD = '1') => ({ availableUSD, limitUSD, heldUSD });
const owner = (name: string) => ({ org: 'o', kind: 'Job', project: 'default', name });

function add(world: World, uid: string, one: AwaitMoney): void {
  world.work.add(owner(uid), uid, one);
}

test('the longest waiting come first, each as far as it fits; what needs more than is left is passed over', (t) => {
  const entry = (since: number, neededUSD: string, count = 1) => ({ wait: wait(since, { neededUSD }), count });
  const [late, first, large] = [entry(3, '2', 9), entry(1, '3'), entry(2, '8')];
  t.deepEqual(fitting([late, large, first], LEFT('9'), 100), [
    { entry: first, count: 1 },
    { entry: late, count: 3 },
  ]);
  t.deepEqual(fitting([late], { availableUSD: '-5' }, 4), [{ entry: late, count: 4 }], 'nothing limits the counter');
  t.deepEqual(fitting([late], LEFT('-5'), 4), []);
});

test('what was stopped is woken by a higher limit only, what has never begun by what is given back as well', async (t) => {
  const world = open();
  world.rooms.set(BUDGET, LEFT('6'));
  add(world, 'stopped', wait(1, { above: '10' }));
  add(world, 'new', wait(2));
  await world.rounds(3);
  const freed = { type: 'MoneyFreed', counter: BUDGET, count: 1 };
  t.deepEqual(world.told, [['new', { ...freed, stopped: false }]], 'once each, until it says again that it waits');
  world.rooms.set(BUDGET, LEFT('7', '11'));
  await world.rounds(1);
  t.deepEqual(world.told[1], ['stopped', { ...freed, stopped: true } as ObjectMessage]);
});

test('a Budget that is gone and a month that is over wake all that wait for them', async (t) => {
  const world = open();
  add(world, 'a', wait(1, { above: '10', count: 3 }));
  await world.rounds(1);
  const month = 'budget/m/2026-11';
  world.rooms.set(month, LEFT('0'));
  add(world, 'b', wait(1, { counter: month, above: '10' }));
  await world.rounds(1);
  t.deepEqual(
    world.told.map(([uid]) => uid),
    ['a'],
  );
  world.now = Date.parse('2026-12-01T00:00:00Z');
  await world.rounds(1);
  t.deepEqual(
    world.told.map(([uid]) => uid),
    ['a', 'b'],
  );
});

test('an owner that could not be reached gets its message again, and one message says that a cap below which nothing is held is used up', async (t) => {
  const world = open();
  world.answer = 'Retry';
  world.rooms.set(BUDGET, LEFT('6'));
  add(world, 'a', wait(1));
  await world.rounds(1);
  world.answer = 'Done';
  await world.rounds(2);
  t.is(world.told.length, 2);

  world.rooms.set(CAP, LEFT('1', '10', '4'));
  add(world, 'job', wait(1, { counter: CAP }));
  await world.rounds(1);
  t.is(world.told.length, 2, 'what is held may be given back');
  world.rooms.set(CAP, LEFT('1', '10', '0'));
  await world.rounds(1);
  world.rooms.set(CAP, LEFT('0.5', '10', '0'));
  await world.rounds(1);
  t.deepEqual(world.told.slice(2), [['job', { type: 'MoneyExhausted', counter: CAP, limitUSD: '10' }]]);
});

test('refused renewals are tried once, then when their counter has more, and before what waits to begin', async (t) => {
  const world = open();
  const tried = () => [...world.work.takeRefused().values()].flat().map(({ key }) => key);
  world.rooms.set(BUDGET, LEFT('3'));
  world.refused.set('hold', BUDGET);
  add(world, 'new', wait(1));
  await world.rounds(1);
  t.deepEqual(tried(), ['hold']);
  t.deepEqual(world.told, [], 'what runs has the first try');
  await world.rounds(1);
  t.deepEqual(tried(), []);
  t.is(world.told.length, 1, 'it did not take what was left');
  for (const room of [LEFT('4'), LEFT('4', '11')]) {
    world.rooms.set(BUDGET, room);
    await world.rounds(1);
    t.deepEqual(tried(), ['hold']);
  }
  for (const key of ['second', 'third', 'fourth']) world.refused.set(key, BUDGET);
  world.rooms.set(BUDGET, LEFT('5'));
  await world.rounds(1);
  t.deepEqual(tried(), ['hold', 'second'], 'as many as fit');
});

test('small work that waits passes a large piece for ten seconds; then money gathers for it, for so long as it may come together', async (t) => {
  const world = open();
  const large = wait(NOVEMBER - 10_000, { neededUSD: '8' });
  const woken = () => world.told.splice(0).map(([uid]) => uid);
  const small = (uid: string): void => add(world, uid, wait(world.now - 1, { neededUSD: '1' }));
  add(world, 'large', { ...large, since: NOVEMBER - 9_999 });
  small('early');
  world.rooms.set(BUDGET, LEFT('2', '10', '8'));
  await world.rounds(1);
  t.deepEqual(woken(), ['early'], 'it may be passed');
  // Each round is ten seconds after the one before.
  for (const [free, held] of [
    ['3', '7'],
    ['5', '5'],
    ['6', '4'],
  ] as const) {
    small(`behind-${free}`);
    // It says so again, as when another of its pieces is refused.
    add(world, 'large', { ...large, since: NOVEMBER - 9_999 });
    world.rooms.set(BUDGET, LEFT(free, '10', held));
    await world.rounds(1);
    t.deepEqual(woken(), [], `${free} are free and gather`);
  }
  world.rooms.set(BUDGET, LEFT('9', '10', '1'));
  await world.rounds(1);
  t.deepEqual(woken()[0], 'large');
});

test('nothing gathers for longer than half a minute in three, nor for what can never fit, and those behind go on', async (t) => {
  const world = open();
  const woken = () => world.told.splice(0).map(([uid]) => uid);
  add(world, 'never', wait(NOVEMBER - 30_000, { neededUSD: '11' }));
  add(world, 'large', wait(NOVEMBER - 20_000, { neededUSD: '8' }));
  add(world, 'first', wait(NOVEMBER - 25_000, { neededUSD: '1' }));
  add(world, 'small', wait(NOVEMBER - 1, { neededUSD: '1', count: 9 }));
  add(world, 'raised', wait(NOVEMBER - 1, { above: '5', neededUSD: '1' }));
  world.rooms.set(BUDGET, LEFT('2', '10', '8'));
  await world.rounds(1);
  t.deepEqual(woken(), ['first', 'raised'], 'what waits longer, and what has a higher limit now, is not behind it');
  await world.rounds(2);
  t.deepEqual(woken(), []);
  await world.rounds(1);
  t.deepEqual(woken(), ['small'], 'after thirty seconds, though nothing has changed since');
  for (let tens = 40; tens < 180; tens += 10) {
    world.rooms.set(BUDGET, LEFT('1', '10', String(tens)));
    await world.rounds(1);
  }
  t.deepEqual(woken(), Array(7).fill('small'), 'each time when one fits');
  add(world, 'late', wait(world.now - 1, { neededUSD: '1' }));
  world.rooms.set(BUDGET, LEFT('2', '10', '8'));
  await world.rounds(1);
  t.deepEqual(woken(), [], 'it begins again after three minutes');
  world.rooms.set(BUDGET, LEFT('2', '7', '5'));
  await world.rounds(1);
  t.deepEqual(woken(), ['late'], 'the limit was lowered: it cannot fit any more');
});

test('what has ended or was cancelled leaves the queue at once: whoever waits behind its hundreds of pieces is woken in the same round', async (t) => {
  const world = open();
  world.rooms.set(BUDGET, LEFT('2'));
  add(world, 'cancelled', wait(1, { count: 255 }));
  add(world, 'deleted', wait(2, { count: 40 }));
  add(world, 'next', wait(3));
  world.gone.add('cancelled').add('deleted');
  await world.rounds(1);
  t.deepEqual(
    world.told.map(([uid]) => uid),
    ['next'],
  );
  world.gone.clear();
  await world.rounds(2);
  t.is(world.told.length, 1, 'they ask again when they want it again');
});
