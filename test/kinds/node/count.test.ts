/** The count of a Node's places after its placements was lost. */
import test from 'ava';
import { openSlices } from '../../../actors/slices.js';
import type { Address } from '../../../src/api/address.js';
import { encodeObject } from '../../../src/api/encode.js';
import type { ApiObject } from '../../../src/api/object.js';
import { countPlaces, type CountDeps } from '../../../actors/effects/count-places.js';
import { WORK_FINALIZER } from '../../../src/kinds/attempt/state.js';
import type { Effect, LaterEffect } from '../../../src/kinds/effect.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import type { Message } from '../../../src/kinds/machine.js';
import { LOCAL_NODE } from '../../../src/kinds/node/local.js';
import { nodeMachine } from '../../../src/kinds/node/machine.js';
import { Placements } from '../../../src/kinds/node/placements.js';

const JOB: Address = { org: 'o-1', kind: 'Job', project: 'default', name: 'j' };
const GiB = 2 ** 30;
const CAPACITY = { milliCpu: 1_000, memory: GiB, disk: GiB };

/** A Node with one core, over the books of several lives. */
class Bench {
  book = new Placements();
  readonly granted: string[] = [];
  readonly counts: (string | undefined)[] = [];
  #books = 0;

  send(message: Message): string {
    const object = { metadata: {}, spec: {}, status: {} } as unknown as ApiObject<object, object>;
    const current = { address: LOCAL_NODE, object, private: { capacity: CAPACITY } };
    const moment = { now: 1_000_000, uid: () => `book-${(this.#books += 1)}`, randomBytes: () => new Uint8Array() };
    const decision = nodeMachine.decide(current, this.book, message as never, moment);
    if (decision.outcome !== 'Next' && decision.outcome !== 'Volatile') return decision.outcome;
    for (const change of decision.changes ?? []) this.book.apply(change);
    const effects: readonly Effect[] = [
      ...('effects' in decision ? decision.effects : []),
      ...(decision.volatile ?? []),
    ];
    for (const effect of effects) {
      if (effect.type === 'CountPlaces') this.counts.push(effect.count);
      if (effect.type === 'Tell' && effect.message.type === 'PlaceGranted') this.granted.push(effect.to.name);
    }
    return decision.outcome;
  }

  tell(name: string, message: ObjectMessage): void {
    this.send({
      type: 'MessageReceived',
      from: { address: { ...JOB, kind: 'Attempt', name }, uid: name, version: 0 },
      content: message,
    });
  }

  wants(name: string, held: boolean): void {
    const amounts = { ...CAPACITY, memory: 1, disk: 1 };
    this.tell(name, { type: 'PlaceWanted', owner: JOB, ownerUid: 'u', since: 1_000_000, amounts, held });
  }

  counted(count: string | undefined): void {
    this.tell('node', { type: 'PlacesCounted', count });
  }
}

test('the answer to a count of an earlier book ends no later one, so that no place is given twice', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.book = new Placements(); // the actor crashed
  bench.wants('waits', false);
  t.deepEqual(bench.counts, ['book-1', 'book-2']);
  bench.counted('book-1');
  bench.counted(undefined); // asked for by an earlier program
  t.deepEqual(bench.granted, []);
  bench.wants('holds', true);
  bench.counted('book-2');
  t.deepEqual(bench.granted, [], 'the machine is full');
  bench.tell('holds', { type: 'PlaceReleased' });
  t.deepEqual(bench.granted, ['waits']);
});

test('the answer that finds an empty book does not end the count that it begins', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.book = new Placements();
  bench.counted('book-1');
  bench.wants('waits', false);
  t.deepEqual(bench.granted, []);
  bench.counted('book-2');
  t.deepEqual(bench.granted, ['waits']);
});

test('a count that is asked for again has the same name, so that a slow one ends too', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.send({ type: 'TimerFired', timer: 'count', generation: 1 });
  t.deepEqual(bench.counts, ['book-1', 'book-1']);
  bench.wants('waits', false);
  bench.counted('book-1');
  t.deepEqual(bench.granted, ['waits']);
});

test('a count that could not be carried out is asked for again, and only the one that is under way', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  const fails = (effect: object): string =>
    bench.send({ type: 'EffectFailed', effect: effect as LaterEffect, reason: 'RetriesExhausted', message: '' });
  t.is(fails({ type: 'CountPlaces', count: 'book-0' }), 'Ignored', 'of an earlier book');
  t.is(fails({ type: 'Tell', count: 'book-1' }), 'Ignored');
  t.deepEqual(bench.counts, ['book-1']);
  t.is(fails({ type: 'CountPlaces', count: 'book-1' }), 'Next');
  t.deepEqual(bench.counts, ['book-1', 'book-1']);
  bench.counted('book-1');
  t.is(fails({ type: 'CountPlaces', count: 'book-1' }), 'Ignored', 'it is counted');
  t.deepEqual(bench.counts.length, 2);
});

test('what a Node does not wait for changes nothing: other timers, reports, actions, and being opened again', (t) => {
  const bench = new Bench();
  const fired = (timer: string): string => bench.send({ type: 'TimerFired', timer, generation: 1 });
  bench.send({ type: 'Activated' });
  bench.counted('book-1');
  t.is(bench.send({ type: 'Activated' }), 'Ignored', 'its book is open');
  t.is(bench.send({ type: 'Created' }), 'Ignored');
  t.is(fired('count'), 'Ignored', 'it has counted');
  t.is(fired('other'), 'Ignored');
  t.not(fired('summary'), 'Ignored');
  t.not(fired('heartbeat'), 'Ignored');
  const report = { report: 'Lost', epoch: 1, time: 0, reason: 'NodeLost', message: '' } as const;
  t.is(bench.send({ type: 'Reported', report }), 'Ignored');
  t.is(bench.send({ type: 'Action', action: 'drain' } as unknown as Message), 'Ignored');
  t.is(bench.send({ type: 'DeletionRequested' }), 'Refused', 'the machine is still there');
  t.deepEqual(bench.counts, ['book-1']);
});

test('an Attempt that is parked is spoken for, and keeps its place through a count', async (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.wants('waits', false);
  const names = ['parked', 'parked-in-the-queue', 'well'];
  const router: CountDeps['router'] = {
    async deliver(address) {
      return address.name.startsWith('parked') ? 'Parked' : 'Done';
    },
    async tell(row, to, uid, message) {
      t.deepEqual([to, uid], [LOCAL_NODE, 'u-node']);
      bench.send({
        type: 'MessageReceived',
        from: { address: row.address, uid: row.uid, version: row.version },
        content: message,
      });
      return { outcome: 'Done' };
    },
  };
  const deps: CountDeps = {
    router,
    pending: {
      unfinishedHeld: async () => names.map((name) => ({ ...JOB, kind: 'Attempt', name })),
      unfinishedOf: async () => [],
      unfinishedOrgs: async () => [],
    },
    slices: openSlices(0),
    onProblem: (message) => t.fail(message),
    async read({ name }) {
      const finalizers = name === 'parked' ? [WORK_FINALIZER] : [];
      const annotations = { 'svc.dev/place': 'cpu=1,memory=1Mi,disk=1Mi' };
      const metadata = { name, namespace: 'default', uid: name, finalizers, annotations, creationTimestamp: '' };
      const body = { apiVersion: 'x/v1', kind: 'Attempt', metadata, spec: {}, status: {} };
      return encodeObject(body as unknown as ApiObject);
    },
    stopping: new AbortController().signal,
    messagesSent: async () => undefined,
  };
  const effect = { type: 'CountPlaces', count: 'book-1' } as const;
  const row = { version: 1, address: LOCAL_NODE, uid: 'u-node', effects: [effect] };
  t.deepEqual(await countPlaces(row, effect, deps), { outcome: 'Done' });
  t.deepEqual(bench.granted, []);
  t.is(bench.book.load.places, 1);
  t.is(bench.book.count, 'Counted');
  bench.tell('parked', { type: 'PlaceReleased' });
  t.deepEqual(bench.granted, ['waits']);
});
