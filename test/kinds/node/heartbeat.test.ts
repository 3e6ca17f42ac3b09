/** What a Node says of a machine that says nothing, and whom it lets wait. */
import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { LOCAL_NODE } from '../../../src/kinds/node/local.js';
import { nodeMachine } from '../../../src/kinds/node/machine.js';
import { Placements } from '../../../src/kinds/node/placements.js';
import type { NodeSpec, NodeStatus } from '../../../src/kinds/node/schema.js';
import { LONGEST_MS } from '../../../src/kinds/node/gathering.js';
import { STARVATION_MS } from '../../../src/kinds/node/round-robin.js';
import { LOST_MS, SILENT_MS } from '../../../src/kinds/node/step.js';
import { JOB, MACHINE, NodeBench, START } from './node-bench.js';

test('a machine that says nothing for minutes gets no new work, is Lost after ten, and is back with a word', (t) => {
  const bench = new NodeBench();
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
  const bench = new NodeBench();
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
  const bench = new NodeBench();
  bench.send({ type: 'Activated' });
  bench.observe();
  bench.wants('runs', MACHINE.memory);
  bench.wants('waits', MACHINE.memory);
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
  const bench = new NodeBench();
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
  const bench = new NodeBench();
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
