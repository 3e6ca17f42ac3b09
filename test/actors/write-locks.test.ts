/** The order of changes of files in one box: one with a condition is alone, and no one waits without an end. */
import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { assert, asyncProperty, array, boolean, constantFrom, record } from 'fast-check';
import { WriteLocks, type Sharing } from '../../actors/work/files/write-locks.js';

const never = new AbortController().signal;
setMaxListeners(0, never);

/** A change that goes on until it is let go. */
function held(locks: WriteLocks, sharing: Sharing, signal = never) {
  let end = (): void => undefined;
  const change = { begun: false, done: Promise.resolve(), end: () => end() };
  change.done = locks.run('w.1', sharing, signal, () => {
    change.begun = true;
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  return change;
}

test('a change with a condition is alone in its box, those without share it, and each begins in the order that it came', async (t) => {
  const changes = array(
    record({
      box: constantFrom('a', 'b'),
      sharing: constantFrom<Sharing>('Alone', 'Shared'),
      fails: boolean(),
      leaves: boolean(),
    }),
    { maxLength: 12 },
  );
  await assert(
    asyncProperty(changes, async (list) => {
      const locks = new WriteLocks();
      const going: { readonly box: string; readonly sharing: Sharing }[] = [];
      const begun: number[] = [];
      const runs = list.map(async (one, index) => {
        const leaving = new AbortController();
        const run = locks.run(one.box, one.sharing, leaving.signal, async () => {
          const beside = going.filter(({ box }) => box === one.box);
          if (beside.length > 0 && [one, ...beside].some(({ sharing }) => sharing === 'Alone'))
            throw new Error('beside');
          going.push(one);
          begun.push(index);
          await turn();
          going.splice(going.indexOf(one), 1);
          if (one.fails) throw new Error('as it should');
        });
        if (one.leaves) leaving.abort(new Error('left'));
        await run.catch((error: Error) => {
          if (error.message === 'beside') throw error;
        });
      });
      await Promise.all(runs);
      for (const box of ['a', 'b']) {
        const order = begun.filter((index) => list[index]?.box === box);
        if (order.some((index, at) => at > 0 && index < (order[at - 1] ?? 0))) throw new Error('out of order');
      }
      if (locks.size > 0) throw new Error('a lock is left');
    }),
  );
  t.pass();
});

test('a change that waits too long, or behind too many, is refused and keeps nobody waiting', async (t) => {
  const locks = new WriteLocks(50);
  const first = held(locks, 'Shared');
  const late = locks.run('w.1', 'Alone', never, () => Promise.resolve());
  const behind = held(locks, 'Shared');
  t.false(behind.begun);
  await t.throwsAsync(late, { message: /^Unavailable/ });
  await turn();
  t.true(behind.begun, 'it waited only for the one that has given up');
  first.end();
  behind.end();
  await Promise.all([first.done, behind.done]);
  t.is(locks.size, 0);

  const patient = new WriteLocks();
  const alone = held(patient, 'Alone');
  const waiting = Array.from({ length: 256 }, () => patient.run('w.1', 'Shared', never, () => Promise.resolve()));
  await t.throwsAsync(
    patient.run('w.1', 'Shared', never, () => Promise.resolve()),
    { message: /^Unavailable/ },
  );
  await patient.run('w.2', 'Alone', never, () => Promise.resolve());
  alone.end();
  await Promise.all([alone.done, ...waiting]);
  t.is(patient.size, 0);
});
