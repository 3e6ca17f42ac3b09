/** What a Node says of a machine that says nothing, and whom it lets wait. */
import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { parseTime } from '../../../src/api/time.js';
import type { Message } from '../../../src/kinds/machine.js';
import { LOCAL_NODE } from '../../../src/kinds/node/local.js';
import { nodeMachine } from '../../../src/kinds/node/machine.js';
import { Placements } from '../../../src/kinds/node/placements.js';
import type { NodeSpec, NodeStatus } from '../../../src/kinds/node/schema.js';
import { LONGEST_MS } from '../../../src/kinds/node/gathering.js';
import { STARVATION_MS } from '../../../src/kinds/node/round-robin.js';
import type { NodePrivate } from '../../../src/kinds/node/readiness.js';
import { LOST_MS, SILENT_MS } from '../../../src/kinds/node/step.js';

const CAPACITY = { milliCpu: 1_000, memory: 2 ** 30, disk: 2 ** 30 };
const START = parseTime('2026-01-02T03:04:05Z') ?? 0;
const JOB = { org: 'o-1', kind: 'Job', project: 'default', name: 'j' };

class Bench {
  now = START;
  book = new Placements();
  status: NodeStatus = { phase: 'NotReady' };
  kept: NodePrivate | undefined;
  timer: number | undefined;
  /** When room gathers no more. */
  gathering: number | undefined;
  readonly granted = new Set<string>();
  readonly denied: string[] = [];

  send(message: Message<NodeSpec, NodeStatus>): void {
    const object = { metadata: {}, spec: {}, status: this.status } as unknown as ApiObject<NodeSpec, NodeStatus>;
    const moment = { now: this.now, uid: () => 'book', randomBytes: () => new Uint8Array() };
    const current = { address: LOCAL_NODE, object, private: this.kept };
    const decision = nodeMachine.decide(current, this.book, message, moment);
    if (decision.outcome !== 'Next' && decision.outcome !== 'Volatile') return;
    for (const change of decision.changes ?? []) this.book.apply(change);
    for (const effect of decision.volatile ?? []) {
      if (effect.type !== 'Tell') continue;
      if (effect.message.type === 'PlaceGranted') this.granted.add(effect.to.name);
      if (effect.message.type === 'PlaceDenied') this.denied.push(effect.message.reason);
    }
    if (decision.outcome === 'Volatile') return;
    this.status = decision.status;
    this.kept = decision.private ?? this.kept;
    const armed = decision.effects.filter((effect) => effect.type === 'ArmTimer' && effect.timer === 'heartbeat');
    for (const effect of armed) if (effect.type === 'ArmTimer') this.timer = effect.at;
    for (const effect of decision.effects)
      if (effect.type === 'ArmTimer' && effect.timer === 'gathering') this.gathering = effect.at;
  }

  observe(shortage?: string): void {
    const from = { address: LOCAL_NODE, uid: '', version: 0 };
    const message = { type: 'NodeObserved', engine: 'e', isolation: 'i', capacity: CAPACITY, shortage } as const;
    this.send({ type: 'MessageReceived', from, content: message });
    this.send({ type: 'MessageReceived', from, content: { type: 'PlacesCounted', count: 'book' } });
  }

  wants(name: string, memory = 1, org = JOB.org): void {
    const from = { address: { ...JOB, org, kind: 'Attempt', name }, uid: name, version: 0 };
    const amounts = { milliCpu: 1, memory, disk: 1 };
    const message = { type: 'PlaceWanted', owner: JOB, ownerUid: 'u', since: START, amounts, held: false } as const;
    this.send({ type: 'MessageReceived', from, content: message });
  }

  /** Lets the timer fire when it is due. */
  wait(): void {
    this.now = this.timer ?? this.now;
    this.timer = undefined;
    this.send({ type: 'TimerFired', timer: 'heartbeat', generation: 1 });
  }

  condition(type: string) {
    return this.status.conditions?.find((one) => one.type === type);
  }

  get ready(): string {
    const found = this.condition('Ready');
    return `${this.status.phase} ${found?.status} ${found?.reason}`;
  }
}

test('a machine that says nothing for minutes gets no new work, is Lost after ten, and is back with a word', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.observe();
  bench.wants('first');
  t.is(bench.granted.size, 1);
  t.is(bench.ready, 'Ready True EngineReady');
  bench.wait();
  t.is(bench.now, START + SILENT_MS);
  t.is(bench.ready, 'NotReady Unknown NodeStatusUnknown');
  bench.wants('second');
  t.is(bench.granted.size, 1);
  bench.now += 5_000;
  bench.send({ type: 'TimerFired', timer: 'summary', generation: 1 });
  t.deepEqual(bench.denied, ['the machine was last heard of at 2026-01-02T03:04:05Z']);
  bench.wait();
  t.is(bench.now, START + LOST_MS);
  t.is(bench.status.phase, 'Lost');
  t.is(bench.timer, undefined);
  bench.observe();
  t.is(bench.ready, 'Ready True EngineReady');
  t.is(bench.granted.size, 2);
  t.is(bench.timer, bench.now + SILENT_MS);
});

test('while the disk is short no Attempt begins, those that wait are told why, and they begin when it has room again', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.observe();
  bench.wants('runs');
  bench.observe('the disk is nearly full');
  t.is(bench.ready, 'Ready True EngineReady', 'what runs there goes on');
  t.like(bench.condition('DiskPressure'), { status: 'True', message: 'the disk is nearly full' });
  bench.wants('waits');
  t.deepEqual([...bench.granted], ['runs']);
  bench.now += 5_000;
  bench.send({ type: 'TimerFired', timer: 'summary', generation: 1 });
  t.deepEqual(bench.denied, ['the disk is nearly full']);
  bench.observe('the disk is nearly full');
  t.deepEqual(bench.denied, ['the disk is nearly full'], 'once is enough');
  bench.observe();
  t.deepEqual([...bench.granted], ['runs', 'waits']);
  t.like(bench.condition('DiskPressure'), { status: 'False' });
});

test('who waited before the disk was short is told what it waits for then, and afterwards', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.observe();
  bench.wants('runs', CAPACITY.memory);
  bench.wants('waits', CAPACITY.memory);
  const summary = (): void => {
    bench.now += 5_000;
    bench.send({ type: 'TimerFired', timer: 'summary', generation: 1 });
  };
  summary();
  bench.observe('short');
  bench.observe();
  summary();
  t.deepEqual(
    bench.denied.map((reason) => (reason.includes('others are using') ? 'others' : reason)),
    ['others', 'short', 'others'],
  );
  t.deepEqual([...bench.granted], ['runs']);
});

test('a machine that goes on speaking is never silent, and a service that was away takes no machine for lost', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  for (let minute = 0; minute < 20; minute += 1) {
    bench.now += 60_000;
    bench.observe();
  }
  t.is(bench.ready, 'Ready True EngineReady');
  bench.now += 3_600_000;
  bench.book = new Placements();
  // Overdue since long: the first thing that the new process hears.
  bench.send({ type: 'TimerFired', timer: 'heartbeat', generation: 1 });
  t.is(bench.ready, 'Ready True EngineReady');
  t.is(bench.timer, bench.now + SILENT_MS);
  bench.wait();
  t.is(bench.ready, 'NotReady Unknown NodeStatusUnknown');
});

test('the machine of the service cannot be deleted, another Node can', (t) => {
  const object = { metadata: {}, spec: {}, status: { phase: 'Ready' } } as unknown as ApiObject<NodeSpec, NodeStatus>;
  const moment = { now: START, uid: () => 'book', randomBytes: () => new Uint8Array() };
  const remove = (name: string) => {
    const current = { address: { ...LOCAL_NODE, name }, object, private: undefined };
    return nodeMachine.decide(current, new Placements(), { type: 'DeletionRequested' }, moment);
  };
  const refused = remove(LOCAL_NODE.name);
  t.is(refused.outcome === 'Refused' && refused.refusal.code, 'Conflict');
  t.is(remove('other').outcome, 'Next');
});

test('work of another org that fits begins while large work waits, at the latest when room has gathered for a while', (t) => {
  const bench = new Bench();
  bench.send({ type: 'Activated' });
  bench.observe();
  bench.wants('keeps', 2 ** 28);
  bench.wants('whole', 2 ** 30, 'o-2');
  bench.now += STARVATION_MS;
  bench.wants('young', 1, 'o-3');
  t.true(bench.granted.has('young'), 'room gathers only once the large one is looked at');
  bench.observe();
  t.is(bench.gathering, bench.now + LONGEST_MS);
  bench.wants('behind', 1, 'o-3');
  t.false(bench.granted.has('behind'));
  bench.now = bench.gathering ?? 0;
  bench.send({ type: 'TimerFired', timer: 'gathering', generation: 1 });
  t.true(bench.granted.has('behind'));
  t.false(bench.granted.has('whole'), 'what keeps the rest has not ended');
  const from = { address: { ...JOB, kind: 'Attempt', name: 'keeps' }, uid: 'keeps', version: 0 };
  for (const name of ['keeps', 'young', 'behind'])
    bench.send({ type: 'MessageReceived', from: { ...from, uid: name }, content: { type: 'PlaceReleased' } });
  t.true(bench.granted.has('whole'));
});
