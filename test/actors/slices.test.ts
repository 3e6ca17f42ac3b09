/** How much of each turn of the event loop lists have together, counted by a clock that the slices themselves move on. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { openSlices, type Slices } from '../../actors/slices.js';

interface World {
  readonly slices: Slices;
  /** Orgs in the order of their slices, by turn of the loop. */
  readonly turns: string[][];
  /** Does `count` slices of the org one after the other, each of which takes `ms` of the loop. */
  work(org: string, count: number, ms: number): Promise<void>;
  end(): void;
}

function worldOf(): World {
  let now = 0;
  let isOver = false;
  const turns: string[][] = [[]];
  const turnOfLoop = (): void => {
    turns.push([]);
    if (!isOver) setImmediate(turnOfLoop);
  };
  setImmediate(turnOfLoop);
  const slices = openSlices(4, () => now);
  return {
    slices,
    turns,
    async work(org, count, ms) {
      for (let n = 0; n < count; n += 1) {
        await slices.next(org);
        turns.at(-1)?.push(org);
        // What a list does takes several steps of promises (`matching`, `cutPage`, …), all within its slice.
        for (let step = 0; step < 5; step += 1) await Promise.resolve();
        now += ms;
      }
    },
    end: () => void (isOver = true),
  };
}

test('of slices that take long one is done in a turn of the loop, however many lists are under way', async (t) => {
  const world = worldOf();
  await Promise.all(Array.from({ length: 64 }, () => world.work('greedy', 1, 3)));
  world.end();
  t.is(world.turns.flat().length, 64);
  // Where the machine takes the processor away at the end of a turn, the timer for the next one is due before that is counted.
  t.true(Math.max(...world.turns.map(({ length }) => length)) <= 2);
});

test('short slices share a turn of the loop up to its bound, and one list alone goes on in it', async (t) => {
  for (const lists of [1, 20]) {
    const world = worldOf();
    await Promise.all(Array.from({ length: lists }, () => world.work('acme', 60 / lists, 1)));
    world.end();
    const most = Math.max(...world.turns.map(({ length }) => length));
    // A crowd waits by a timer, which may be due twice in one counted turn, as above.
    if (lists === 1) t.is(most, 3);
    else t.true(most >= 3 && most <= 6, `${most} slices of ${lists} lists in a turn`);
    t.is(world.turns.flat().length, 60);
  }
});

test('a list of another org waits for one slice of an org with a hundred lists before each of its own', async (t) => {
  const world = worldOf();
  const greedy = Array.from({ length: 100 }, () => world.work('greedy', 1, 3));
  await Promise.all([...greedy, world.work('modest', 3, 3)]);
  world.end();
  t.deepEqual(world.turns.flat().slice(0, 6), ['greedy', 'modest', 'greedy', 'modest', 'greedy', 'modest']);
});

test('while many lists wait, the loop is left to others as long as the slices had it', async (t) => {
  const world = worldOf();
  const began = performance.now();
  await Promise.all(Array.from({ length: 24 }, () => world.work('greedy', 1, 5)));
  world.end();
  // No rest while the last ones wait. The clock of the slices stands still meanwhile, the machine's does not.
  t.true(performance.now() - began >= 80);
});

test('slices begin again after there was nothing to do', async (t) => {
  const world = worldOf();
  await world.work('acme', 1, 5);
  await nextTurn();
  await nextTurn();
  await world.work('acme', 2, 5);
  world.end();
  t.is(world.turns.flat().length, 3);
});
