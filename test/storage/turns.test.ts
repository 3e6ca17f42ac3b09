/** Turns of orgs at long reads of the ledger: one at a time each, in turns, with bounds, and never lost. */
import test from 'ava';
import * as fc from 'fast-check';
import { openTurns } from '../../storage/ledger/turns.js';
import { tries } from '../support/extent.js';

const never = new AbortController().signal;

test('an org has one read under way, all have so many, each is run once, and the orgs take turns', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }),
      fc.integer({ min: 1, max: 3 }),
      async (orgs, atOnce) => {
        const inTurn = openTurns({ atOnce, mostWaiting: 30, what: 'reads' });
        const under: string[] = [];
        const begun: string[] = [];
        const read = async (org: string): Promise<void> => {
          t.false(under.includes(org));
          under.push(org);
          begun.push(org);
          t.true(under.length <= atOnce);
          await new Promise((resolve) => setImmediate(resolve));
          under.splice(under.indexOf(org), 1);
        };
        await Promise.all(orgs.map((org) => inTurn(org, never, () => read(org))));
        t.deepEqual(begun.toSorted(), orgs.toSorted());
        if (atOnce === 1)
          for (const [i, org] of begun.entries()) {
            // Who is served twice in a row had nobody waiting beside it.
            if (i > 1 && begun[i - 1] === org) t.deepEqual([...new Set(begun.slice(i))], [org]);
          }
      },
    ),
    { numRuns: tries(200) },
  );
});

test('a read that fails gives up its turn, and one that finds no place is refused', async (t) => {
  const inTurn = openTurns({ atOnce: 1, mostWaiting: 1, what: 'reads' });
  let fail = (): void => {};
  const failing = inTurn('a', never, () => new Promise((_resolve, reject) => (fail = () => reject(new Error('no')))));
  const waiting = inTurn('a', never, async () => 'done');
  await t.throwsAsync(
    inTurn('a', never, async () => 'never'),
    { message: /this org has other reads under way/ },
  );
  fail();
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await waiting, 'done');
});

test('a wait ends with its signal and leaves its place, and neither the others nor its turn are lost', async (t) => {
  const inTurn = openTurns({ atOnce: 1, mostWaiting: 2, what: 'reads' });
  let end = (): void => {};
  const first = inTurn('a', never, () => new Promise<void>((resolve) => (end = resolve)));
  const caller = new AbortController();
  const given = [inTurn('a', caller.signal, async () => t.fail()), inTurn('b', caller.signal, async () => t.fail())];
  caller.abort();
  for (const one of given) await t.throwsAsync(one, { message: /this org has other reads under way/ });
  const next = [inTurn('a', never, async () => 1), inTurn('a', never, async () => 2)];
  end();
  await first;
  t.deepEqual(await Promise.all(next), [1, 2], 'their places were free');
  await t.throwsAsync(
    inTurn('b', AbortSignal.abort(), async () => t.fail()),
    { message: /other reads under way/ },
  );
});
