/** What becomes of work whose hold could not be renewed: it goes on for as long as it is paid, then ends gracefully, and its owner waits or stops. */
import test from 'ava';
import { rfc3339Millis } from '../../../src/api/time.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { payerAnnotations } from '../../../src/kinds/attempts/payer.js';
import { termsAnnotations } from '../../../src/kinds/attempts/terms.js';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import { ask, at, contextAt, decided, NOW, objectOf, type Stored } from '../decide.js';

const OWNER = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };
const UNTIL = NOW + 40_000;

function attempt(phase: AttemptStatus['phase'], kept: object): Stored {
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'a', ownerReferences: [OWNER] });
  return at({ ...object, status: { ...(object.status as AttemptStatus), phase } }, kept);
}

function told(content: ObjectMessage, kind = 'Attempt'): Message {
  const address = { org: 'o-1', kind, project: 'a', name: 'one' };
  return { type: 'MessageReceived', from: { address, uid: 'uid-0', version: 9 }, content };
}

const shortfall = (by: 'Budget' | 'Cap'): HoldRefusal => ({
  ...{ key: 'uid-0', by, uid: 'limit', counter: by === 'Cap' ? 'cost/limit' : 'budget/limit/total', limitUSD: '2.00' },
  ...{ name: by === 'Budget' ? 'team-a' : undefined, availableUSD: '0.00', neededUSD: '0.50' },
});
const refused = (by: 'Budget' | 'Cap', sequence = 3): Message =>
  told({ type: 'FundingRefused', shortfall: shortfall(by), until: UNTIL, sequence });
const fired: Message = { type: 'TimerFired', timer: 'unfunded', generation: 1 };

test('work whose renewal is refused runs on until what it holds is used up, and is then stopped with its grace', (t) => {
  for (const [by, reason] of [
    ['Budget', 'Unfunded'],
    ['Cap', 'MaxCostReached'],
  ] as const) {
    const waiting = decided(attemptKind, attempt('Running', { work: 'Live' }), refused(by));
    t.deepEqual(waiting.effects, [{ type: 'ArmTimer', timer: 'unfunded', at: UNTIL }], by);
    const stopping = decided(attemptKind, waiting, fired);
    t.like(stopping.effects[0], { type: 'StopWork', epoch: 1, graceSeconds: 30 });
    t.is((stopping.private as { stopping?: string }).stopping, reason);
  }
});

test('money that comes in time lets it go on, and a late or repeated message of either sort changes nothing', (t) => {
  const waiting = decided(attemptKind, attempt('Running', { work: 'Live' }), refused('Budget', 3));
  t.is(ask(attemptKind, waiting, refused('Budget', 3)).outcome, 'Ignored');
  t.is(ask(attemptKind, waiting, told({ type: 'FundingRestored', sequence: 2 })).outcome, 'Ignored');
  const paid = decided(attemptKind, waiting, told({ type: 'FundingRestored', sequence: 4 }));
  t.deepEqual(paid.effects, [{ type: 'CancelTimer', timer: 'unfunded' }]);
  t.is(ask(attemptKind, paid, fired).outcome, 'Ignored');
  t.is(
    ask(attemptKind, attempt('Running', { work: 'Live', stopping: 'Stopped' }), refused('Budget')).outcome,
    'Ignored',
  );
  t.is(ask(attemptKind, attempt('Failed', { work: 'Gone' }), refused('Budget')).outcome, 'Ignored');
});

test('work that is stopped for want of money tells its owner what refused it, and that it was an interruption', (t) => {
  const waiting = decided(attemptKind, attempt('Running', { work: 'Live' }), refused('Budget'));
  const stopping = decided(attemptKind, waiting, fired);
  const ended = decided(attemptKind, stopping, {
    ...{ type: 'Reported', report: { report: 'Exited', epoch: 1, exitCode: 0, outOfMemory: false, time: NOW } },
  } as Message);
  t.like(ended.object.status, { phase: 'Cancelled', reason: 'Unfunded', interruption: { trigger: 'Funding' } });
  const [said] = ended.effects.flatMap((effect) => (effect.type === 'Tell' ? [effect.message] : []));
  t.like(said, { type: 'AttemptChanged', reason: 'Unfunded', shortfall: shortfall('Budget') });
});

test('a Sandbox whose Attempt ended for want of money stops and says what refused it, and only a client starts it again', (t) => {
  for (const [by, ended, reason, event] of [
    ['Budget', 'Unfunded', 'BudgetExceeded', 'sandbox.funding_lost'],
    ['Cap', 'MaxCostReached', 'MaxCostReached', 'sandbox.max_cost_reached'],
  ] as const) {
    const born = { namespace: 'a', creationTimestamp: '2026-01-02T03:04:05Z' };
    const box = objectOf(sandboxKind, { image: 'svc/agent-tools' }, born);
    const made = decided(sandboxKind, at(box), { type: 'Created' });
    const changed = {
      ...{ type: 'AttemptChanged', slot: 0, epoch: 1, lost: false, message: '', time: NOW, shortfall: shortfall(by) },
      ...{ phase: 'Cancelled', reason: ended, gone: true },
    } as ObjectMessage;
    const after = decided(sandboxKind, made, told(changed));
    t.like(after.object.status, { phase: 'Stopped', stopReason: reason });
    const { conditions } = after.object.status as { conditions: { type: string }[] };
    t.like(
      conditions.find(({ type }) => type === 'Funded'),
      { status: 'False', reason },
    );
    t.true(after.effects.some((effect) => effect.type === 'Emit' && effect.event === event));
    t.is((after.object.spec as { state: string }).state, 'Stopped');
    t.false(
      after.effects.some(({ type }) => type === 'CreateChild'),
      'nothing begins by itself',
    );
    const { spec } = after.object;
    const asked = { ...after, object: { ...after.object, spec: { ...(spec as object), state: 'Running' } } };
    const again = decided(sandboxKind, asked, { type: 'Updated', before: after.object });
    const placed = decided(
      sandboxKind,
      again,
      told({ ...changed, epoch: 2, phase: 'Provisioning', reason: '', gone: undefined } as ObjectMessage),
    );
    t.true(placed.effects.some((effect) => effect.type === 'Emit' && effect.event === 'sandbox.funding_restored'));
  }
});

test('a teardown that the service was away or late for is paid by the service, and so is the start of what it lost', (t) => {
  const terms = 'pricebook=2026-01,offering=cpu-local,rate=1,increment=1s,minimum=0.00';
  const annotations = {
    ...termsAnnotations(terms),
    ...payerAnnotations({ project: 'a', labels: {}, costs: [] }),
  };
  const released = (proof: number, kept: object, activeSince?: number) => {
    const { object } = attempt('Succeeded', {});
    const status = { ...(object.status as AttemptStatus), timings: { finishedTime: rfc3339Millis(NOW) } };
    const ended = at({ ...object, metadata: { ...object.metadata, annotations }, status }, { work: 'Going', ...kept });
    const report = { report: 'Removed', epoch: 1, time: NOW + proof } as const;
    const { effects } = decided(attemptKind, ended, { type: 'Reported', report }, { ...contextAt(), activeSince });
    return effects.flatMap((one) => (one.type === 'Money' && one.operation.op === 'Release' ? [one.operation] : []));
  };
  const covered = (proof: number, kept: object) => released(proof, kept).flatMap((one) => one.covered ?? []);
  t.deepEqual(covered(5_000, {}), []);
  t.deepEqual(covered(5_001, {}), ['Teardown']);
  t.deepEqual(covered(1, { lost: true }), ['Boot', 'Teardown']);
  // It ended while nobody was there: the time until the next process is nobody's, however long or short.
  for (const away of [4_000, 60_000])
    t.like(released(away + 500, {}, NOW + away), [{ until: NOW + 500, covered: [] }], `${away} ms away`);
  t.like(released(500, {}, NOW - 1), [{ until: NOW + 500, covered: [] }]);
  // It stood still, and heard of the end late: that is noted with the end.
  const lateMs = (late: number): unknown => {
    const { object } = attempt('Running', {});
    const running = at({ ...object, metadata: { ...object.metadata, annotations } }, { work: 'Live' });
    const ended = { report: 'Exited', epoch: 1, time: NOW, exitCode: 0 } as const;
    const report = { ...ended, outOfMemory: false, outputs: [] };
    const { private: kept } = decided(attemptKind, running, { type: 'Reported', report }, contextAt(NOW + late));
    return (kept as { lateMs?: number }).lateMs;
  };
  t.is(lateMs(1_000), undefined, 'as long as an end takes to be heard of');
  t.is(lateMs(8_000), 8_000);
  t.like(released(8_200, { lateMs: 8_000 }), [{ until: NOW + 200, covered: [] }]);
});
