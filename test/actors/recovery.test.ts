/** What a start wakes beside clients: everything, orgs beside each other, and again what could not be taken. */
import test from 'ava';
import { wakeHeld, wakeUnfinished } from '../../actors/recovery.js';
import { openSlices } from '../../actors/slices.js';
import type { Address } from '../../src/api/address.js';
import type { Pending } from '../../storage/store.js';

const job = (org: string, n: number): Address => ({
  ...{ org, kind: 'Job', project: 'default' },
  name: `j-${String(n).padStart(6, '0')}`,
});

function pendingOf(
  objects: ReadonlyMap<string, readonly Address[]>,
): Pick<Pending, 'unfinishedHeld' | 'unfinishedOf' | 'unfinishedOrgs'> {
  return {
    unfinishedOrgs: async () => [...objects.keys()],
    async unfinishedOf(org, _kinds, limit, after) {
      const own = objects.get(org) ?? [];
      const from = after === undefined ? 0 : own.findIndex(({ name }) => name === after.name) + 1;
      return own.slice(from, from + limit);
    },
    async unfinishedHeld(_kind, limit, after) {
      const all = [...objects.values()].flat();
      const from =
        after === undefined ? 0 : all.findIndex(({ org, name }) => org === after.org && name === after.name) + 1;
      return all.slice(from, from + limit);
    },
  };
}

test('a few objects of one org are woken while thousands of another are, and each of them once', async (t) => {
  const many = Array.from({ length: 3_500 }, (_, n) => job('a', n));
  const few = [job('b', 1), job('b', 2)];
  const woken: string[] = [];
  await wakeUnfinished(['Job'], {
    pending: pendingOf(
      new Map([
        ['a', many],
        ['b', few],
      ]),
    ),
    router: {
      async deliver({ org, name }) {
        woken.push(`${org}/${name}`);
        return 'Done';
      },
    },
    slices: openSlices(0),
    stopping: new AbortController().signal,
    onProblem: (message) => t.fail(message),
  });
  t.is(woken.length, 3_502);
  t.is(new Set(woken).size, 3_502);
  t.true(woken.findIndex((one) => one.startsWith('b/')) < 50, 'it does not stand behind them');
});

test('a read that fails is tried again, what takes no message now is asked again, and what is parked is told', async (t) => {
  const objects = new Map([['a', [job('a', 1), job('a', 2)]]]);
  const pending = pendingOf(objects);
  let reads = 0;
  let asked = 0;
  const problems: string[] = [];
  const deps = {
    pending: {
      ...pending,
      async unfinishedOf(...args: Parameters<typeof pending.unfinishedOf>) {
        reads += 1;
        if (reads === 1) throw new Error('no answer');
        return pending.unfinishedOf(...args);
      },
    },
    router: {
      async deliver({ name }: Address) {
        asked += 1;
        if (name === 'j-000002') return 'Parked' as const;
        return asked === 1 ? ('Retry' as const) : ('Done' as const);
      },
    },
    slices: openSlices(0),
    stopping: new AbortController().signal,
    onProblem: (message: string) => void problems.push(message),
  };
  await wakeUnfinished(['Job'], deps);
  t.deepEqual(problems, ['no answer']);
  t.is(asked, 3);
  t.deepEqual(await wakeHeld('Job', deps), [job('a', 2)]);
});
