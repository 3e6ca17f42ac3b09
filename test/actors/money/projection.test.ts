import test from 'ava';
import { openProjection } from '../../../actors/money/projection.js';
import type { Delivery } from '../../../actors/mailbox.js';
import { emptyCounter } from '../../../src/money/book.js';
import type { ChangedCounter, CounterName, ShownCounter } from '../../../storage/ledger/projection.js';

const costOf = (uid: string): ChangedCounter => ({
  ...{ org: 'o', counter: emptyCounter(`cost/${uid}`), revision: 1, refusing: false },
  owner: { uid, kind: 'Job', project: 'default', name: uid },
});

const idOf = ({ org, counter }: CounterName): string => `${org}/${counter}`;

interface Shown {
  readonly sent: readonly string[];
  readonly shown: readonly string[];
}

/** As many rounds, over a store in which a counter is changed until it is shown; one of revision 0 is shown from the start. `deliver`: of the n-th message to this object. */
async function rounds(
  count: number,
  changed: readonly ChangedCounter[],
  deliver: (uid: string, n: number) => Promise<Delivery>,
  asked: readonly CounterName[] = [],
): Promise<Shown> {
  const stop = new AbortController();
  const sent: string[] = [];
  const shown: string[] = [];
  const isNamed = ({ org, counter }: ChangedCounter, names: readonly string[]): boolean =>
    names.includes(idOf({ org, counter: counter.counter }));
  let begun = 0;
  const projection = openProjection({
    rows: {
      changed({ after, limit }) {
        begun += 1;
        if (begun >= count) stop.abort();
        const left = changed.filter(
          (one) => one.revision > 0 && one.counter.counter > after.counter && !isNamed(one, shown),
        );
        return Promise.resolve(left.slice(0, limit));
      },
      named: (names) => Promise.resolve(changed.filter((one) => isNamed(one, names.map(idOf)))),
      shown(counters: readonly ShownCounter[]) {
        shown.push(...counters.map(idOf));
        return Promise.resolve();
      },
      holdsOf: () => Promise.resolve([]),
    },
    send({ name }, uid) {
      sent.push(name);
      return deliver(uid, sent.filter((to) => to === name).length);
    },
    clock: () => 0,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
  for (const name of asked) projection.ask(name);
  await projection.run(stop.signal);
  return { sent, shown };
}

test('a counter is shown when its object has it or is gone, and sent again when its object could not take it', async (t) => {
  const { sent, shown } = await rounds(3, ['a', 'b', 'c'].map(costOf), (uid, n) =>
    Promise.resolve(uid === 'a' ? 'Absent' : uid === 'b' && n === 1 ? 'Retry' : 'Done'),
  );
  t.deepEqual(sent, ['a', 'b', 'c', 'b']);
  t.deepEqual(
    shown.toSorted((a, b) => a.localeCompare(b)),
    ['o/cost/a', 'o/cost/b', 'o/cost/c'],
  );
});

test('an object that does not answer is sent nothing more, and holds up no other', async (t) => {
  const { sent, shown } = await rounds(3, ['a', 'b'].map(costOf), (uid) =>
    uid === 'a' ? new Promise<Delivery>(() => undefined) : Promise.resolve('Done'),
  );
  t.deepEqual([sent, shown], [['a', 'b'], ['o/cost/b']]);
});

test('what fills a page with objects that take nothing does not keep the page behind it from being shown', async (t) => {
  const many = Array.from({ length: 501 }, (_, i) => costOf(`n-${String(i).padStart(3, '0')}`));
  const { shown } = await rounds(3, many, (uid) => Promise.resolve(uid === 'n-500' ? 'Done' : 'Parked'));
  t.deepEqual(shown, ['o/cost/n-500']);
});

test('figures that were asked for are sent though they are shown already, until their object has them', async (t) => {
  const unchanged = { ...costOf('a'), revision: 0 };
  const asked = [
    { org: 'o', counter: 'cost/a' },
    { org: 'o', counter: 'cost/none' },
  ];
  const changed = [unchanged];
  const first = await rounds(4, changed, (_uid, n) => Promise.resolve(n === 1 ? 'Done' : 'Absent'), asked);
  t.deepEqual(first.sent, ['a']);
  const failing = await rounds(4, changed, (_uid, n) => Promise.resolve(n < 3 ? 'Retry' : 'Done'), asked);
  t.deepEqual(failing.sent, ['a', 'a', 'a']);
});
