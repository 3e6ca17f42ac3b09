import test from 'ava';
import { array, assert, integer, nat, property, record } from 'fast-check';
import {
  add,
  everFits,
  hasRoomFor,
  isWithinCap,
  MAX_PLACES,
  NOTHING,
  shareOf,
} from '../../../src/kinds/node/amounts.js';
import { Placements, type PlaceRequest } from '../../../src/kinds/node/placements.js';
import { LONGEST_MS, PAUSE_MS, REST_MS } from '../../../src/kinds/node/gathering.js';
import { isBehind, PASSED_MS, planGrants, STARVATION_MS } from '../../../src/kinds/node/round-robin.js';
import { ask, bookOf, CAPACITY, NOW, order } from './requests.js';

test('Turns go round the orgs first, then round the owners of each', (t) => {
  const book = bookOf([
    ...[1, 2, 3].map((since) => ask('a', 'big', since)),
    ask('a', 'small', 4),
    ask('b', 'only', 5),
    ask('b', 'only', 6),
  ]);
  t.deepEqual(order(book, { ...CAPACITY, milliCpu: 100_000 }), [
    'a/big',
    'b/only',
    'a/small',
    'b/only',
    'a/big',
    'a/big',
  ]);
});

test('Within one owner the oldest goes first, also when it asks again later', (t) => {
  const [young, old] = [ask('a', 'j', 20), ask('a', 'j', 10)];
  const book = bookOf([young, old]);
  t.deepEqual(
    planGrants(book, NOTHING, CAPACITY, NOW, undefined).grants.map(({ uid }) => uid),
    [old.uid, young.uid],
  );
});

test('Whoever was served goes to the end of the ring', (t) => {
  const book = bookOf([ask('a', 'x', 1), ask('a', 'x', 2), ask('b', 'y', 3), ask('b', 'y', 4)]);
  const one = { ...CAPACITY, milliCpu: 1_000 };
  const served: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const [request] = planGrants(book, NOTHING, one, NOW, undefined).grants;
    if (request === undefined) break;
    served.push(request.attempt.org);
    book.apply({ change: 'Holds', request, heard: true, at: NOW });
    book.apply({ change: 'Leaves', uid: request.uid });
  }
  t.deepEqual(served, ['a', 'b', 'a', 'b']);
});

const HALF_USED = { ...NOTHING, milliCpu: 2_000, places: 1 };
/** What is planned while half of the machine is in use, as uids, and for whom room gathers. */
function plan(book: Placements, now = NOW): readonly [readonly string[], string | undefined] {
  const { grants, gathers } = planGrants(book, HALF_USED, CAPACITY, now, undefined);
  return [grants.map(({ uid }) => uid), gathers?.uid];
}

test('A young request that does not fit is passed by smaller ones; for an old one room gathers, and nobody passes it', (t) => {
  const small = ask('b', 'small', NOW);
  t.deepEqual(plan(bookOf([ask('a', 'large', NOW - STARVATION_MS + 1, 3_000), small])), [[small.uid], undefined]);
  const large = ask('a', 'large', NOW - STARVATION_MS, 3_000);
  const book = bookOf([large, small]);
  t.deepEqual(plan(book), [[], large.uid]);
  book.apply({ change: 'Gathers', uid: large.uid, org: 'a', at: NOW });
  const late = NOW + LONGEST_MS - 1;
  t.deepEqual(plan(book, late), [[], undefined]);
  t.true(isBehind(book, small, CAPACITY, late), 'what comes now does not pass it either');
  t.deepEqual(
    planGrants(book, NOTHING, CAPACITY, late, undefined).grants.map(({ uid }) => uid),
    [large.uid, small.uid],
    'it goes first, and once',
  );
});

test('Room gathers for a while only: other orgs start what fits, for what uses the rest may never end', (t) => {
  const large = ask('a', 'large', NOW - STARVATION_MS, 3_000);
  const [own, other] = [ask('a', 'small', NOW), ask('b', 'small', NOW)];
  const book = bookOf([large, own, other]);
  book.apply({ change: 'Gathers', uid: large.uid, org: 'a', at: NOW });
  const end = NOW + LONGEST_MS;
  t.deepEqual(plan(book, end), [[other.uid], undefined], 'its own org waits behind it');
  t.false(isBehind(book, other, CAPACITY, end));
  t.true(isBehind(book, own, CAPACITY, end));
  t.deepEqual(plan(book, end + PAUSE_MS - 1), [[other.uid], undefined]);
  t.deepEqual(plan(book, end + PAUSE_MS), [[], large.uid], 'after a pause it has its turn again');
});

/** Half of the machine is held by pieces of org b, and more of them wait; org a has one large request, which came at NOW. */
function besidePieces(): { readonly book: Placements; readonly large: PlaceRequest; readonly small: PlaceRequest } {
  const held = [ask('b', 'pieces', 0), ask('b', 'pieces', 0)];
  const [large, small] = [ask('a', 'large', NOW, 3_000), ask('b', 'pieces', NOW)];
  const book = bookOf([large, small]);
  for (const request of held) book.apply({ change: 'Holds', request, heard: true, at: NOW });
  return { book, large, small };
}

test('For an org that holds less than another room gathers as soon as it was passed for a moment, so that pieces do not keep it out', (t) => {
  const { book, large, small } = besidePieces();
  t.deepEqual(plan(book, NOW + PASSED_MS - 1), [[small.uid], undefined]);
  t.deepEqual(plan(book, NOW + PASSED_MS), [[], large.uid]);
  const equal = ask('a', 'holds', 0, 2_000);
  book.apply({ change: 'Holds', request: equal, heard: true, at: NOW });
  t.deepEqual(plan(book, NOW + PASSED_MS), [[small.uid], undefined], 'an org that holds as much waits longer');
  t.is(
    planGrants(book, HALF_USED, CAPACITY, NOW + PASSED_MS, equal.uid).gathers,
    large,
    'what is just given back is not held',
  );
});

test('A gathering that finds its place quickly is followed by a short rest, one in vain by a long one of its org', (t) => {
  const { book, large } = besidePieces();
  const next = ask('a', 'large', NOW, 3_000);
  book.apply({ change: 'Waits', request: next });
  book.apply({ change: 'Gathers', uid: large.uid, org: 'a', at: NOW });
  t.false(book.mayGather('c', NOW + LONGEST_MS), 'as long as nothing is known of it, it is in vain');
  const placed = NOW + 1_000;
  book.apply({ change: 'Holds', request: large, heard: false, at: placed });
  t.is(book.gathering(placed), undefined, 'the others go on at once');
  book.apply({ change: 'Leaves', uid: large.uid });
  t.is(plan(book, placed + 1_999)[1], undefined);
  t.is(plan(book, placed + 2_000)[1], next.uid);
  book.apply({ change: 'Gathers', uid: next.uid, org: 'a', at: placed + 2_000 });
  const end = placed + 2_000 + LONGEST_MS;
  book.apply({ change: 'Holds', request: next, heard: false, at: end });
  t.false(book.mayGather('a', end + PAUSE_MS - 1), 'a place that comes after its time ends nothing early');
  t.true(book.mayGather('c', end + REST_MS), 'another org need not wait for that');
});

test('Room gathers for the next org first, and for nobody that has left or never fits', (t) => {
  const [one, other] = [ask('a', 'large', 0, 3_000), ask('b', 'large', 0, 3_000)];
  const book = bookOf([one, other]);
  t.is(plan(book)[1], one.uid);
  book.apply({ change: 'Gathers', uid: one.uid, org: 'a', at: NOW });
  book.apply({ change: 'Gathered' });
  const rested = NOW + LONGEST_MS + REST_MS;
  t.is(plan(book, rested - 1)[1], undefined, 'it was in vain, and others have used the room for a while');
  t.is(plan(book, rested)[1], other.uid);
  const small = ask('c', 'small', rested);
  book.apply({ change: 'Waits', request: small });
  book.apply({ change: 'Gathers', uid: other.uid, org: 'b', at: rested });
  book.apply({ change: 'Leaves', uid: other.uid });
  t.deepEqual(plan(book, rested), [[small.uid], undefined]);
  t.false(isBehind(book, small, CAPACITY, rested));
});

test('What does not fit of one org hides no other org, however much it is', (t) => {
  const small = ask('b', 'small', NOW);
  const many = Array.from({ length: 40 }, (_, n) => ask('a', `large-${n}`, NOW, 3_000));
  t.deepEqual(plan(bookOf([...many, small])), [[small.uid], undefined]);
});

test('A request that can never fit keeps nobody waiting', (t) => {
  const small = ask('b', 'small', NOW);
  const book = bookOf([ask('a', 'huge', 0, 5_000), small]);
  t.deepEqual(
    planGrants(book, NOTHING, CAPACITY, NOW, undefined).grants.map(({ uid }) => uid),
    [small.uid],
  );
});

test('No more places are given than a machine has, whatever they ask for', (t) => {
  const book = bookOf(Array.from({ length: MAX_PLACES + 10 }, (_, since) => ask('a', `j${since % 7}`, since, 0)));
  t.is(planGrants(book, NOTHING, CAPACITY, NOW, undefined).grants.length, MAX_PLACES);
});

test('A place that was given back is not held by a request that comes late', (t) => {
  const request = ask('a', 'j', 1);
  const book = bookOf([]);
  book.apply({ change: 'Holds', request, heard: true, at: NOW });
  book.apply({ change: 'Leaves', uid: request.uid });
  t.true(book.hasLeft(request.uid));
  t.deepEqual(book.load, NOTHING);
});

test('Plans stay within the capacity and the caps, and the book counts what it was told', (t) => {
  let capped = 0;
  const asked = record({ org: nat(3), owner: nat(4), since: nat(100), cpu: nat(3_000), leaves: nat(9) });
  t.notThrows(() =>
    assert(
      property(array(asked, { maxLength: 60 }), integer({ min: 1, max: 100 }), (asks, orgPercent) => {
        const capacity = { ...CAPACITY, orgPercent };
        const book = new Placements();
        const alive = new Set<string>();
        for (const { org, owner, since, cpu, leaves } of asks) {
          const request = ask(`o${org}`, `j${owner}`, since, cpu);
          book.apply({ change: 'Waits', request });
          alive.add(request.uid);
          if (leaves === 0) {
            book.apply({ change: 'Leaves', uid: request.uid });
            alive.delete(request.uid);
          }
          let load = book.load;
          const granting = planGrants(book, load, capacity, NOW, undefined).grants;
          for (const granted of granting) {
            if (!hasRoomFor(granted.amounts, load, CAPACITY)) throw new Error('granted beyond the capacity');
            load = add(load, granted.amounts);
            book.apply({ change: 'Holds', request: granted, heard: false, at: NOW });
          }
          for (const held of book.loads.values())
            if (shareOf(held, CAPACITY) * 100 > orgPercent + 1e-9) throw new Error('granted beyond the cap');
          for (const waiting of book.waiting()) {
            const mayBegin = everFits(waiting.amounts, capacity) && hasRoomFor(waiting.amounts, load, capacity);
            if (mayBegin && !isWithinCap(waiting.amounts, book.loadOf(waiting.attempt.org), capacity)) capped += 1;
          }
          if (JSON.stringify(load) !== JSON.stringify(book.load)) throw new Error('counted wrongly');
          if (new Set(granting.map(({ uid }) => uid)).size !== granting.length) throw new Error('granted twice');
        }
        const counted = book.load.places + book.waitingCount;
        if (counted !== alive.size) throw new Error(`lost somebody: ${counted} of ${alive.size}`);
        for (const uid of alive) book.apply({ change: 'Leaves', uid });
        if (book.orgs.size > 0 || book.waitingCount > 0) throw new Error('an empty queue was left');
      }),
    ),
  );
  t.true(capped > 0, 'the cap alone kept some of them waiting');
});
