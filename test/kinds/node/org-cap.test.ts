/** What one org may hold of a machine at once (`TROUPE_QUOTA_MACHINE_PERCENT`): what is above it waits for its own org alone, and is told so. */
import test from 'ava';
import type { ResourceAmounts } from '../../../src/kinds/amounts.js';
import { everFits, isWithinCap, NOTHING, orgCapOf, take } from '../../../src/kinds/node/amounts.js';
import type { PlaceRequest, Placements } from '../../../src/kinds/node/placements.js';
import { isBehind, planGrants, STARVATION_MS } from '../../../src/kinds/node/round-robin.js';
import { JOB, NodeBench } from './node-bench.js';
import { ask, bookOf, CAPACITY, NOW, order } from './requests.js';

/** One org may hold half of it. */
const HALF_EACH = { ...CAPACITY, orgPercent: 50 };

/** Org a holds two of four processors for good, and a third piece of its work waits. */
function atItsCap(since = NOW): {
  readonly book: Placements;
  readonly held: PlaceRequest;
  readonly third: PlaceRequest;
} {
  const [held, other] = [ask('a', 'endless', 0), ask('a', 'endless', 0)];
  const third = ask('a', 'endless', since);
  const book = bookOf([third]);
  for (const request of [held, other]) book.apply({ change: 'Holds', request, heard: true, at: NOW });
  return { book, held, third };
}

test('What would take its org above its cap is passed by, by its own org too, and begins when the org holds less', (t) => {
  const { book, held, third } = atItsCap();
  const [small, other] = [ask('a', 'small', NOW, 0), ask('b', 'large', NOW, 2_000)];
  for (const request of [small, other]) book.apply({ change: 'Waits', request });
  const plans = (capacity: ResourceAmounts, leaves?: PlaceRequest) => {
    const load = leaves === undefined ? book.load : take(book.load, leaves.amounts);
    return planGrants(book, load, capacity, NOW, leaves?.uid).grants.map(({ uid }) => uid);
  };
  t.deepEqual(plans(HALF_EACH), [small.uid, other.uid]);
  t.deepEqual(plans(HALF_EACH, held), [third.uid, other.uid, small.uid], 'what has just left is not held');
  t.deepEqual(plans(CAPACITY), [third.uid, small.uid], 'without a cap');
});

test('One plan gives an org no more than its cap, however much room there is', (t) => {
  const book = bookOf([1, 2, 3, 4].map((since) => ask('a', `j${since}`, since)));
  t.deepEqual(order(book, HALF_EACH), ['a/j1', 'a/j2']);
  t.is(order(book, CAPACITY).length, 4);
});

test('Room never gathers for what waits for its own org to hold less: only its own org waits behind it, after a minute', (t) => {
  const { book, third } = atItsCap(NOW - STARVATION_MS);
  const [own, other] = [ask('a', 'own', NOW, 0), ask('b', 'other', NOW)];
  for (const request of [own, other]) book.apply({ change: 'Waits', request });
  const much = ask('c', 'holds', 0, 1_000);
  book.apply({ change: 'Holds', request: much, heard: true, at: NOW });
  t.deepEqual(planGrants(book, book.load, HALF_EACH, NOW, undefined), { grants: [other] });
  t.true(isBehind(book, own, HALF_EACH, NOW));
  t.false(isBehind(book, other, HALF_EACH, NOW));
  book.apply({ change: 'Gathers', uid: third.uid, org: 'a', at: NOW });
  t.deepEqual(planGrants(book, book.load, HALF_EACH, NOW, undefined).grants, [other], 'as when the capacity shrank');
  t.false(isBehind(book, other, HALF_EACH, NOW));
});

test('Room that has gathered counts as held by its org in the same plan', (t) => {
  const [large, small] = [ask('a', 'large', NOW - STARVATION_MS, 2_000), ask('a', 'small', NOW)];
  const book = bookOf([large, small]);
  book.apply({ change: 'Gathers', uid: large.uid, org: 'a', at: NOW });
  t.deepEqual(planGrants(book, NOTHING, HALF_EACH, NOW, undefined).grants, [large]);
});

test('What is above the cap by itself never fits and keeps nobody waiting, its own org neither', (t) => {
  const [huge, small] = [ask('a', 'huge', 0, 2_001), ask('a', 'small', NOW)];
  const book = bookOf([huge, small]);
  t.deepEqual(planGrants(book, NOTHING, HALF_EACH, NOW, undefined), { grants: [small] });
  t.false(isBehind(book, small, HALF_EACH, NOW));
  t.true(everFits(huge.amounts, CAPACITY));
  t.false(everFits(huge.amounts, HALF_EACH));
});

test('The cap is of each part of the machine, places too, and a cap of everything is none', (t) => {
  const one = { milliCpu: 0, memory: 0, disk: 0 };
  t.deepEqual(orgCapOf({ ...CAPACITY, orgPercent: 1 }), { milliCpu: 40, memory: 10, disk: 10, places: 10 });
  for (const part of [{ milliCpu: 2_000 }, { memory: 500 }, { disk: 500 }, { places: 499 }]) {
    const held = { ...NOTHING, ...part };
    t.true(isWithinCap(one, held, HALF_EACH), JSON.stringify(part));
    const more = { milliCpu: 1, memory: 1, disk: 1 };
    t.false(isWithinCap(more, { ...held, places: held.places + 1 }, HALF_EACH), JSON.stringify(part));
  }
  t.is(orgCapOf({ ...CAPACITY, orgPercent: 100 }), undefined);
  t.true(isWithinCap(one, { ...NOTHING, milliCpu: 9_999 }, CAPACITY));
});

function capped(orgMachinePercent: number): NodeBench {
  const bench = new NodeBench();
  bench.orgMachinePercent = orgMachinePercent;
  bench.send({ type: 'Activated' });
  bench.observe();
  return bench;
}

const QUARTER = 2 ** 28;

test('an org that holds as much as it may waits for itself, is told so with the figures, and others begin', (t) => {
  const bench = capped(50);
  for (const name of ['one', 'two', 'three']) bench.wants(name, QUARTER);
  t.deepEqual([...bench.granted], ['one', 'two'], 'there is room, and not for this org');
  bench.wants('other', 2 * QUARTER, 'o-2');
  t.true(bench.granted.has('other'));
  bench.summary();
  t.deepEqual(bench.denied, [
    'needs cpu 1m, memory 256Mi, disk 1; the work of one organisation may hold 50 percent of Node "local" at once, which is cpu 500m, memory 512Mi, disk 512Mi in 500 places, and that of yours holds cpu 2m, memory 512Mi, disk 2 in 2 places now: it begins when enough of that has ended; stop what is not needed, or ask the operator to raise TROUPE_QUOTA_MACHINE_PERCENT',
  ]);
  bench.summary();
  t.is(bench.denied.length, 1, 'once is enough');
  bench.leaves('other');
  t.false(bench.granted.has('three'), 'room of others is of no use to it');
  bench.leaves('one');
  t.true(bench.granted.has('three'));
});

test('whose cause to wait changes is told again: the machine is full, or its org holds as much as it may', (t) => {
  const bench = capped(50);
  bench.wants('keeps', QUARTER);
  bench.wants('others', 2 * QUARTER, 'o-2');
  bench.wants('more', QUARTER + 1, 'o-3');
  bench.wants('rest', QUARTER - 1, 'o-3');
  bench.wants('waits', QUARTER);
  bench.summary();
  const causes = (): string[] =>
    bench.denied.map((reason) => (reason.includes('TROUPE_QUOTA_MACHINE_PERCENT') ? 'cap' : 'room'));
  t.deepEqual(causes(), ['room', 'room']);
  bench.wants('also', QUARTER, JOB.org, true);
  bench.summary();
  t.deepEqual(causes(), ['room', 'room', 'cap'], 'only the one of this org');
  bench.leaves('also');
  bench.wants('again', QUARTER, 'o-2', true);
  bench.summary();
  t.is(causes().at(-1), 'room');
});

test('however many wait whose cause changes, one that has just come is told why it waits', (t) => {
  const bench = capped(50);
  bench.wants('keeps', QUARTER);
  bench.wants('others', 2 * QUARTER, 'o-2');
  bench.wants('rest', QUARTER, 'o-3');
  for (let index = 0; index < 64; index += 1) bench.wants(`waits-${index}`, QUARTER);
  bench.summary();
  t.is(bench.denied.length, 64);
  bench.wants('also', QUARTER, JOB.org, true);
  bench.wants('late', 7, 'o-4');
  bench.summary();
  t.is(bench.denied.length, 64 + 33);
  t.regex(bench.denied.at(-1) ?? '', /memory 7, /);
  bench.summary();
  t.is(bench.denied.length, 64 + 65, 'and the others of them later');
});

test('what is above the cap by itself is refused for good with the figures, and holds up nobody', (t) => {
  const bench = capped(50);
  bench.wants('huge', 2 * QUARTER + 1);
  t.deepEqual(bench.refused, ['huge']);
  t.is(
    bench.denied[0],
    'needs cpu 1m, memory 536870913, disk 1; the work of one organisation may hold 50 percent of Node "local" at once, which is cpu 500m, memory 512Mi, disk 512Mi in 500 places: ask for less, or ask the operator to raise TROUPE_QUOTA_MACHINE_PERCENT',
  );
  bench.wants('larger', 4 * QUARTER + 1);
  t.regex(bench.denied[1] ?? '', /the largest Node, "local", has/, 'that no cap would let in');
  bench.wants('fits', 2 * QUARTER);
  t.true(bench.granted.has('fits'));
});

test('work that holds more than a cap that was lowered goes on, and new work of its org waits until that has ended', (t) => {
  const bench = capped(25);
  bench.wants('old', 2 * QUARTER, JOB.org, true);
  t.is(bench.book.load.memory, 2 * QUARTER);
  bench.wants('new');
  t.false(bench.granted.has('new'));
  t.deepEqual(bench.refused, []);
  bench.leaves('old');
  t.true(bench.granted.has('new'));
});
