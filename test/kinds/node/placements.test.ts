/** Who holds a place and whose turn it is, against a book that is kept in lists. */
import test from 'ava';
import * as fc from 'fast-check';
import { addressKey } from '../../../src/api/address.js';
import { NOTHING, add } from '../../../src/kinds/node/amounts.js';
import { LONGEST_MS, REST_MS } from '../../../src/kinds/node/gathering.js';
import { Placements, type PlaceRequest } from '../../../src/kinds/node/placements.js';
import { tries } from '../../support/extent.js';

function request(uid: number, org: number, owner: number, since: number): PlaceRequest {
  const at = { org: `org-${org}`, project: 'p' };
  return {
    uid: `u${uid}`,
    attempt: { ...at, kind: 'Attempt', name: `u${uid}` },
    owner: { ...at, kind: 'Job', name: `j${owner}` },
    since,
    amounts: { milliCpu: 100 + uid, memory: 10 + since, disk: 1 },
  };
}

/** One request for each uid, as an Attempt never changes what it asks for. */
const REQUESTS = Array.from({ length: 9 }, (_, uid) => request(uid, uid % 2, uid % 3, (uid * 5) % 4));

/** The same book in plain lists: who waits by arrival, and the rings of orgs and of their owners. */
class Plain {
  waiting: PlaceRequest[] = [];
  held: PlaceRequest[] = [];
  unheard = new Set<string>();
  told = new Set<string>();
  /** Uid of the one that room was gathered for last, and that has not found its place. */
  gathers: string | undefined;
  /** Keys of owners by org, the next turn first. */
  rings: { org: string; owners: string[] }[] = [];

  enqueue(one: PlaceRequest): void {
    if ([...this.waiting, ...this.held].some(({ uid }) => uid === one.uid)) return;
    this.waiting.push(one);
    const key = addressKey(one.owner);
    const ring = this.rings.find(({ org }) => org === one.attempt.org);
    if (ring === undefined) this.rings.push({ org: one.attempt.org, owners: [key] });
    else if (!ring.owners.includes(key)) ring.owners.push(key);
  }

  hold(one: PlaceRequest, heard: boolean): void {
    if (!this.held.some(({ uid }) => uid === one.uid)) {
      this.dequeue(one.uid, true);
      this.held.push(one);
    }
    if (this.gathers === one.uid) this.gathers = undefined;
    if (heard) this.unheard.delete(one.uid);
    else this.unheard.add(one.uid);
  }

  leave(uid: string): void {
    this.unheard.delete(uid);
    this.held = this.held.filter((one) => one.uid !== uid);
    this.dequeue(uid, false);
  }

  /** Its owner and its org have had their turn, and it waits on. */
  toTheEnd(uid: string | undefined): void {
    const one = this.waiting.find((waiter) => waiter.uid === uid);
    const ring = this.rings.find(({ org }) => org === one?.attempt.org);
    if (one === undefined || ring === undefined) return;
    const key = addressKey(one.owner);
    ring.owners = [...ring.owners.filter((owner) => owner !== key), key];
    this.rings = [...this.rings.filter((other) => other !== ring), ring];
  }

  heldBy(org: string): number {
    return this.held.filter(({ attempt }) => attempt.org === org).length;
  }

  queue(org: string, key: string): PlaceRequest[] {
    const own = this.waiting.filter(({ attempt, owner }) => attempt.org === org && addressKey(owner) === key);
    return own.toSorted((a, b) => a.since - b.since || (a.uid < b.uid ? -1 : 1));
  }

  dequeue(uid: string, served: boolean): void {
    const one = this.waiting.find((waiter) => waiter.uid === uid);
    if (one === undefined) return;
    this.waiting = this.waiting.filter((waiter) => waiter !== one);
    this.told.delete(uid);
    const ring = this.rings.find(({ org }) => org === one.attempt.org);
    if (ring === undefined) return;
    const key = addressKey(one.owner);
    const empty = this.queue(ring.org, key).length === 0;
    if (served || empty) ring.owners = ring.owners.filter((owner) => owner !== key);
    if (served && !empty) ring.owners.push(key);
    if (served || ring.owners.length === 0) this.rings = this.rings.filter((other) => other !== ring);
    if (served && ring.owners.length > 0) this.rings.push(ring);
  }
}

test('after any changes the book is that of plain lists: what is held, who waits, and whose turn is next', (t) => {
  const step = fc.tuple(
    fc.constantFrom('waits', 'waits', 'holds', 'heard', 'leaves', 'notified', 'untold', 'gathers', 'gathered'),
    fc.nat(8),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const book = new Placements();
      const plain = new Plain();
      for (const [what, index] of steps) {
        const one = REQUESTS[index] ?? request(0, 0, 0, 0);
        const { uid } = one;
        if (what === 'waits') {
          book.apply({ change: 'Waits', request: one });
          plain.enqueue(one);
        } else if (what === 'leaves') {
          book.apply({ change: 'Leaves', uid });
          plain.leave(uid);
        } else if (what === 'notified') {
          book.apply({ change: 'RequesterNotified', uid, cause: 'Room' });
          if (plain.waiting.some((waiter) => waiter.uid === uid)) plain.told.add(uid);
        } else if (what === 'gathers') {
          book.apply({ change: 'Gathers', uid, org: one.attempt.org, at: 0 });
          plain.gathers = uid;
        } else if (what === 'gathered') {
          book.apply({ change: 'Gathered' });
          plain.toTheEnd(plain.gathers);
        } else if (what === 'untold') {
          book.apply({ change: 'Untold' });
          plain.told.clear();
        } else {
          book.apply({ change: 'Holds', request: one, heard: what === 'heard', at: index });
          plain.hold(one, what === 'heard');
        }
        t.deepEqual([...book.waiting()], plain.waiting);
        t.is(
          book.gathering(LONGEST_MS - 1),
          plain.waiting.find((waiter) => waiter.uid === plain.gathers),
        );
        t.is(book.gathering(LONGEST_MS), undefined);
        t.is(book.mayGather('another', LONGEST_MS + REST_MS - 1), plain.gathers === undefined);
        t.true(book.mayGather('another', LONGEST_MS + REST_MS));
        t.deepEqual(
          Object.fromEntries([...book.loads].map(([org, { places }]) => [org, places])),
          Object.fromEntries(plain.held.map(({ attempt: { org } }) => [org, plain.heldBy(org)])),
        );
        t.is(book.waitingCount, plain.waiting.length);
        t.deepEqual(
          [...book.orgs].map(([org, owners]) => ({ org, owners: [...owners] })),
          plain.rings.map(({ org, owners }) => ({ org, owners: owners.map((key) => [key, plain.queue(org, key)]) })),
        );
        t.deepEqual(
          book.load,
          plain.held.reduce((sum, { amounts }) => add(sum, amounts), NOTHING),
        );
        for (const { uid: each } of REQUESTS) {
          t.is(
            book.held(each) !== undefined,
            plain.held.some((holder) => holder.uid === each),
          );
          t.is(
            book.waits(each) !== undefined,
            plain.waiting.some((waiter) => waiter.uid === each),
          );
          t.is(book.isUnheard(each), plain.unheard.has(each));
          t.is(book.notifiedOf(each), plain.told.has(each) ? 'Room' : undefined);
        }
        t.deepEqual(
          [...book.unheard()].map(({ request: { uid: each } }) => each).toSorted(),
          [...plain.unheard].toSorted(),
        );
      }
    }),
    { numRuns: tries(150) },
  );
});

test('of those that left the last ten thousand are remembered, so that a late request takes no place', (t) => {
  const book = new Placements();
  for (let left = 0; left < 10_000; left++) book.apply({ change: 'Leaves', uid: `u${left}` });
  t.true(book.hasLeft('u0'));
  book.apply({ change: 'Leaves', uid: 'new' });
  t.false(book.hasLeft('u0'));
  t.true(book.hasLeft('u1'));
  t.true(book.hasLeft('new'));
});

test('a count has the name of its book and the time at which it was first opened', (t) => {
  const book = new Placements();
  t.is(book.count, 'Unknown');
  t.false(book.timerArmed);
  book.apply({ change: 'Counting', count: 'a', at: 5 });
  book.apply({ change: 'Counting', count: 'b', at: 9 });
  t.like(book, { count: 'Counting', name: 'b', since: 5 });
  book.apply({ change: 'Counted' });
  t.is(book.count, 'Counted');
  for (const armed of [true, false]) {
    book.apply({ change: 'TimerArmed', armed });
    t.is(book.timerArmed, armed);
  }
});
