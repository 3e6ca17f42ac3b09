/** What single messages, refusals and failures mean for the children of a Sweep or a Pipeline. Pure. */
import test from 'ava';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { asChildSlot } from '../../../src/kinds/children/slots.js';
import type { SlotRow } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import type { SweepStatus } from '../../../src/kinds/sweep/schema.js';
import { NOW, objectOf } from '../decide.js';
import { Owner } from './owner.js';

const JOB = { command: ['true'] };

function sweep(spec: object = {}): Owner {
  return new Owner(sweepKind, { template: { spec: JOB }, ...spec }).note();
}

function refused(owner: Owner, reason: string, now = NOW): string {
  const [effect] = owner.asked('CreateChild');
  if (effect === undefined) throw new Error('no child was asked for');
  return owner.decide({ type: 'EffectFailed', effect, reason, message: `refused: ${reason}` }, now);
}

test('a create that is refused for what may pass is tried again later and later, and the Sweep says why it waits', (t) => {
  const owner = sweep();
  refused(owner, 'QuotaExceeded');
  t.is(owner.phase(0), 'Waiting');
  const status = owner.object.status as SweepStatus;
  t.is(status.reason, 'QuotaExceeded');
  t.is(status.message, 'cell 0: refused: QuotaExceeded');
  t.deepEqual(
    owner.effects.filter(({ type }) => type === 'ArmTimer'),
    [{ type: 'ArmTimer', timer: 'retry', at: NOW + 1000 }],
  );
  owner.decide({ type: 'TimerFired', timer: 'retry', generation: 1 }, NOW + 1000);
  t.is(owner.asked('CreateChild').length, 1);
  refused(owner, 'QuotaExceeded', NOW + 1000);
  t.is(owner.table.slot(0)?.detail.retryAt, NOW + 3000);
});

test('a create that can never succeed fails its cell at once', (t) => {
  for (const reason of ['AlreadyExists', 'Invalid', 'SecretValueInEnv']) {
    const owner = sweep();
    refused(owner, reason);
    t.is(owner.phase(0), 'Failed', reason);
    t.is((owner.object.status as SweepStatus).reason, 'CellsFailed');
  }
});

test('a Sweep whose window is full has no time to wait for', (t) => {
  const owner = sweep({ repetitions: 3, maxParallel: 2 });
  t.is(owner.asked('CreateChild').length, 2);
  t.deepEqual(
    owner.effects.filter(({ type }) => type === 'ArmTimer'),
    [],
  );
});

test('a cell that waits for its create keeps its place in the window', (t) => {
  const owner = sweep({ repetitions: 3, maxParallel: 1 });
  refused(owner, 'QuotaExceeded');
  t.is(owner.asked('CreateChild').length, 0, 'no other cell hurries into the same refusal');
});

test('what an older state, another incarnation, or a child that is over says changes nothing', (t) => {
  const owner = sweep();
  owner.hear(0, 'Running', {}, 12);
  t.is(owner.hear(0, 'Pending', {}, 11), 'Ignored', 'an older state');
  t.is(owner.hear(0, 'Running', {}, 12), 'Ignored', 'a repeat');
  t.is(owner.hear(0, 'Succeeded', { uid: 'another' }, 20), 'Ignored', 'another incarnation');
  t.is(owner.hear(0, 'Succeeded', {}, 13), 'Next');
  t.is(owner.hear(0, 'Failed', {}, 14), 'Ignored', 'it is over');
  t.is((owner.object.status as SweepStatus).phase, 'Succeeded');
});

test('an object that is no Job of the Sweep has nothing to say', (t) => {
  const owner = sweep();
  const content: ObjectMessage = {
    type: 'ChildChanged',
    uid: 'x',
    phase: 'Succeeded',
    reason: '',
    message: '',
    generation: 1,
  };
  for (const address of [
    { ...owner.address, kind: 'Job', name: 'one-0-000000' },
    { ...owner.address, kind: 'Secret', name: owner.job(0) },
  ])
    t.is(owner.decide({ type: 'MessageReceived', from: { address, uid: 'x', version: 1 }, content }), 'Ignored');
});

test('a second Job of a cell that is over is deleted', (t) => {
  const owner = sweep({ repetitions: 2 });
  owner.hear(0, 'Running');
  const gone: ObjectMessage = { type: 'ChildGone', uid: 'job-0', kind: 'Job' };
  owner.decide({ type: 'MessageReceived', from: owner.from(0, 11), content: gone });
  t.is(owner.phase(0), 'Failed');
  owner.hear(0, 'Running', { uid: 'job-0-again' }, 12);
  t.deepEqual(owner.effects, [{ type: 'DeleteChild', kind: 'Job', name: owner.job(0), uid: 'job-0-again' }]);
});

test('a state goes to each Job that is under way, once, and again where it could not be given', (t) => {
  const owner = sweep({ repetitions: 3, maxParallel: 2 });
  owner.hear(0, 'Running');
  owner.change({ state: 'Suspended' });
  const [first, second] = owner.asked('PatchChild');
  t.deepEqual(first, {
    type: 'PatchChild',
    kind: 'Job',
    name: owner.job(0),
    uid: 'job-0',
    spec: { state: 'Suspended' },
    slot: 0,
  });
  t.is(second?.uid, undefined, 'one that has not told anything yet is asked by its name');
  t.is((owner.object.status as SweepStatus).phase, 'Running', 'until both rest');
  owner.hear(1, 'Suspended', {}, 11);
  t.is(owner.asked('PatchChild').length, 0);
  owner.hear(0, 'Suspended', {}, 12);
  t.is((owner.object.status as SweepStatus).phase, 'Suspended');

  owner.change({ state: 'Running' });
  const [again] = owner.asked('PatchChild');
  if (again === undefined) throw new Error('nothing was asked');
  owner.decide({ type: 'EffectFailed', effect: again, reason: 'RetriesExhausted', message: '' });
  t.deepEqual(owner.effects, [{ type: 'ArmTimer', timer: 'resync', at: NOW + 10_000 }]);
  owner.decide({ type: 'TimerFired', timer: 'resync', generation: 1 }, NOW + 10_000);
  t.deepEqual(owner.asked('PatchChild'), [again]);
  owner.decide({ type: 'EffectFailed', effect: again, reason: 'RetriesExhausted', message: '' }, NOW + 10_000);
  t.deepEqual(owner.effects, [{ type: 'ArmTimer', timer: 'resync', at: NOW + 20_000 }], 'and once more');
});

test('a Sweep that is deleted while a client holds it ends its Jobs, and one that is collected leaves them to go with it', (t) => {
  for (const [finalizers, asked] of [
    [['example.org/hold'], ['Cancelled', 'Cancelled']],
    [['foregroundDeletion'], []],
    [['orphan'], []],
  ] as const) {
    const owner = sweep({ repetitions: 3, maxParallel: 2 });
    owner.hear(0, 'Running');
    const { metadata } = owner.object;
    const deleted = { ...metadata, finalizers, deletionTimestamp: '2026-01-02T03:04:05Z' };
    owner.object = { ...owner.object, metadata: deleted };
    owner.decide({ type: 'DeletionRequested' });
    t.deepEqual(
      owner.asked('PatchChild').map(({ spec }) => (spec as { state: string }).state),
      asked,
    );
    owner.hear(0, 'Cancelled', {}, 11);
    t.deepEqual(owner.asked('CreateChild'), [], 'nothing new begins');
    owner.hear(1, 'Cancelled', {}, 11);
    const { phase, reason } = owner.object.status as SweepStatus;
    t.is(`${phase} ${reason}`, asked.length > 0 ? 'Cancelled Deleted' : 'Running undefined');
  }
});

test('a cancelled Sweep begins nothing more, and is over when its Jobs are', (t) => {
  const owner = sweep({ repetitions: 3, maxParallel: 2 });
  owner.hear(0, 'Running');
  owner.change({ state: 'Cancelled' });
  t.is(owner.asked('PatchChild').length, 2);
  owner.hear(0, 'Cancelled', {}, 11);
  t.is(owner.asked('CreateChild').length, 0);
  owner.hear(1, 'Cancelled', {}, 12);
  const status = owner.object.status as SweepStatus;
  t.is(status.phase, 'Cancelled');
  t.is(status.cancelled, 3);
  t.deepEqual(
    status.cells?.map(({ phase }) => phase),
    ['Cancelled', 'Cancelled', 'Cancelled'],
  );
  t.is(owner.change({ state: 'Running' }), 'Refused');
});

test('a Sweep that is cancelled when all its Jobs have succeeded has succeeded', (t) => {
  const owner = sweep();
  owner.hear(0, 'Running');
  owner.change({ state: 'Cancelled' });
  owner.hear(0, 'Succeeded', {}, 11);
  t.like(owner.object.status, { phase: 'Succeeded', succeeded: 1 });
  t.is(owner.decide({ type: 'Activated' }), 'Next');
  t.deepEqual(owner.asked('Tell'), [], 'nobody is asked any more');
});

test('an owner that is opened again asks for what it may have missed, and makes only what never told anything', (t) => {
  const owner = sweep({ repetitions: 2 });
  owner.hear(0, 'Running');
  t.is(owner.decide({ type: 'Activated' }), 'Volatile');
  t.deepEqual(
    owner.asked('CreateChild').map(({ name }) => name),
    [owner.job(1)],
  );
  t.deepEqual(
    owner.asked('Tell').map(({ to, uid, message }) => [to.name, uid, message.type]),
    [
      [owner.job(0), 'job-0', 'ChildAsked'],
      [owner.job(1), undefined, 'ChildAsked'],
    ],
  );
});

test('a child that was asked for long ago is made only while its slot waits for it', (t) => {
  const slot = (phase: string, detail: object): SlotRow => ({
    index: 0,
    epoch: 1,
    phase,
    failures: 0,
    detail: { ...detail },
  });
  for (const kind of [sweepKind, pipelineKind]) {
    t.true(kind.awaitsChild?.(slot('Active', {})));
    t.false(kind.awaitsChild?.(slot('Active', { uid: 'job-0' })), 'it was there');
    t.false(kind.awaitsChild?.(slot('Succeeded', { uid: 'job-0' })));
    t.false(kind.awaitsChild?.(undefined));
  }
});

test('a state that was asked for long ago is given to a child only while its slot asks for it', (t) => {
  const slot = (phase: string, detail: object): SlotRow => ({
    ...{ index: 0, epoch: 1, phase, failures: 0 },
    detail: { ...detail },
  });
  for (const kind of [sweepKind, pipelineKind]) {
    t.true(kind.asksOfChild?.(slot('Active', { asked: 'Suspended' }), { state: 'Suspended' }));
    t.false(kind.asksOfChild?.(slot('Active', { asked: 'Running' }), { state: 'Suspended' }), 'it was resumed since');
    t.true(kind.asksOfChild?.(slot('Active', {}), { state: 'Running' }));
    t.false(kind.asksOfChild?.(slot('Succeeded', { asked: 'Suspended' }), { state: 'Suspended' }));
    t.false(kind.asksOfChild?.(undefined, { state: 'Running' }));
  }
});

test('a stage gets the outputs of the very Jobs that have succeeded, whatever stands under their names later', (t) => {
  const output = { name: 'model', path: '/tmp/model' };
  const owner = new Owner(pipelineKind, {
    stages: [
      { name: 'train', template: { ...JOB, outputs: [output] } },
      { name: 'test', inputs: [{ name: 'm', fromStage: 'train', output: 'model' }], template: JOB },
    ],
  }).note();
  owner.hear(0, 'Succeeded');
  const [made] = owner.asked('CreateChild');
  t.deepEqual((made?.spec as { inputs: unknown } | undefined)?.inputs, [
    { name: 'm', output: { job: owner.job(0), name: 'model', index: 0 } },
  ]);
  t.deepEqual(made?.annotations, { 'svc.dev/pinned-inputs': '{"m":"job-0"}' });
});

test('names of children are labels, differ from each other, and are those of this incarnation alone', (t) => {
  const long = 'n'.repeat(63);
  const names = (uid: string): readonly string[] => {
    const owner = objectOf(
      pipelineKind,
      { stages: ['a', 'x'.repeat(63), `${'x'.repeat(62)}y`].map((name) => ({ name, template: JOB })) },
      { name: long, uid },
    );
    return [0, 1, 2].map(
      (index) =>
        pipelineKind.stage?.(owner, (owner.spec as { stages: { name: string }[] }).stages[index]?.name ?? '')?.name ??
        '',
    );
  };
  const first = names('uid-1');
  for (const name of first) t.regex(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  t.is(new Set([...first, ...names('uid-2')]).size, 6);
});

test('a phase that a newer program has stored is not touched', (t) => {
  t.is(asChildSlot({ index: 0, epoch: 1, phase: 'Resting', failures: 0 }).phase, 'Failed');
});

test('a Pipeline that failed names the stage that failed first, and how many others did', (t) => {
  const message = (failures: number, step = 1): string => {
    const stages = ['a', 'b', 'c'].map((name) => ({ name, template: JOB }));
    const owner = new Owner(pipelineKind, { stages, failurePolicy: 'Continue' }).note();
    for (const index of [0, 1, 2]) {
      owner.hear(index, index < failures ? 'Failed' : 'Succeeded', {
        reason: 'CustomerExit',
        endedAt: NOW + index * step,
      });
    }
    return (owner.object.status as { message?: string }).message ?? '';
  };
  t.is(message(1), 'stage "a" failed: CustomerExit');
  t.is(message(2), 'stage "a" failed: CustomerExit; 1 more failed');
  t.is(message(3), 'stage "a" failed: CustomerExit; 2 more failed');
  t.is(message(3, -1), 'stage "c" failed: CustomerExit; 2 more failed', 'by when it ended, not by its place');
});

test('a Pipeline that has ended goes after its time, and only after it', (t) => {
  const owner = new Owner(pipelineKind, { stages: [{ name: 'a', template: JOB }], ttlSecondsAfterFinished: 60 }).note();
  owner.hear(0, 'Succeeded', { endedAt: NOW });
  t.deepEqual(
    owner.effects.filter(({ type }) => type === 'ArmTimer'),
    [{ type: 'ArmTimer', timer: 'ttl', at: NOW + 60_000 }],
  );
  owner.decide({ type: 'TimerFired', timer: 'ttl', generation: 1 }, NOW + 59_999);
  t.deepEqual(owner.effects, [{ type: 'ArmTimer', timer: 'ttl', at: NOW + 60_000 }], 'it fired too early');
  owner.decide({ type: 'TimerFired', timer: 'ttl', generation: 1 }, NOW + 60_000);
  t.deepEqual(
    owner.effects.filter(({ type }) => type === 'DeleteSelf'),
    [{ type: 'DeleteSelf' }],
  );
});

test('what was suspended goes on as many at a time as maxParallel lets, the others as those end', (t) => {
  const owner = sweep({ repetitions: 4, maxParallel: 3 });
  for (const index of [0, 1, 2]) owner.hear(index, 'Running');
  owner.change({ state: 'Suspended' });
  for (const index of [0, 1, 2]) owner.hear(index, 'Suspended', {}, 11);
  t.is((owner.object.status as SweepStatus).active, 0, 'what rests is not active');
  owner.change({ maxParallel: 1 });
  owner.change({ state: 'Running' });
  const resumed = (): readonly string[] => owner.asked('PatchChild').map(({ name }) => name);
  t.deepEqual(resumed(), [owner.job(0)]);
  owner.hear(0, 'Running', {}, 12);
  t.deepEqual(resumed(), []);
  owner.hear(0, 'Succeeded', {}, 13);
  t.deepEqual(resumed(), [owner.job(1)]);
  owner.hear(1, 'Succeeded', {}, 14);
  t.deepEqual(resumed(), [owner.job(2)]);
  owner.hear(2, 'Succeeded', {}, 15);
  t.is(owner.asked('CreateChild').length, 1, 'and then the cells that never began');
});

test('the time that a cell was suspended is no time of its work', (t) => {
  const owner = sweep();
  owner.hear(0, 'Running', { startedAt: NOW });
  owner.hear(0, 'Succeeded', { startedAt: NOW, endedAt: NOW + 10_000, suspendedMs: 8000, units: 100 });
  t.like((owner.object.status as SweepStatus).cells?.[0], { wallSeconds: 2, unitsPerSecond: '50' });
});

test('while other stages go on, a Pipeline names the stage that has failed', (t) => {
  const stages = ['a', 'b'].map((name) => ({ name, template: JOB }));
  const owner = new Owner(pipelineKind, { stages }).note();
  owner.hear(0, 'Running');
  owner.hear(1, 'Running');
  owner.hear(0, 'Failed', { reason: 'CustomerExit', endedAt: NOW });
  t.like(owner.object.status, { phase: 'Running', reason: 'StageFailed', message: 'stage "a" failed: CustomerExit' });
});

test('children of a large template begin in pieces, so that no commit holds up the writes of others, and all of them begin', (t) => {
  const args = [`echo ${'x'.repeat(100_000)}`];
  const owner = new Owner(sweepKind, {
    template: { spec: { command: ['sh', '-c'], args } },
    repetitions: 40,
    maxParallel: 32,
  });
  const sizes: number[] = [];
  let begun = 0;
  for (let now = NOW; begun < 32 && sizes.length < 32; now += 100) {
    const asked = owner.asked('CreateChild');
    begun += asked.length;
    sizes.push(JSON.stringify(asked).length);
    const [timer] = owner.effects.filter(({ type }) => type === 'ArmTimer');
    if (begun < 32) t.deepEqual(timer, { type: 'ArmTimer', timer: 'retry', at: now + 100 });
    owner.decide({ type: 'TimerFired', timer: 'retry', generation: 1 }, now + 100);
  }
  t.is(begun, 32);
  t.true(Math.max(...sizes) < 1024 * 1024, sizes.join());
});

test('one commit asks for children up to half a mebibyte, and for the one that goes beyond it', (t) => {
  const begun = (bytes: number): number => {
    const sized = (length: number): Owner =>
      sweep({ template: { spec: { command: ['sh'], args: ['x'.repeat(length)] } }, repetitions: 9, maxParallel: 9 });
    const rest = JSON.stringify(sized(1000).asked('CreateChild')[0]).length - 1000;
    return sized(bytes - rest).made.size;
  };
  t.is(begun(128 * 1024), 4);
  t.is(begun(128 * 1024 - 1), 5);
});

test('one child begins however large it is', (t) => {
  const owner = sweep({ template: { spec: { command: ['sh', '-c'], args: ['x'.repeat(200_000)] } }, repetitions: 2 });
  t.is(owner.made.size, 2);
});

const CAP = { by: 'Cap', uid: 'uid-0', counter: 'cost/uid-0', limitUSD: '1.00' } as const;

test('a child without room below the cap waits; once another was stopped by the cap all rest, and raising it lets them go on', (t) => {
  const owner = sweep({ repetitions: 3, maxParallel: 2, maxCostUSD: '1.00' });
  owner.hear(0, 'Running');
  owner.decide({
    type: 'EffectFailed',
    effect: { type: 'CreateChild', kind: 'Job', name: owner.job(1), spec: {}, slot: 1 },
    ...{ reason: 'MaxCostReached', message: 'has 0.10 USD left' },
    shortfall: { key: 'a', ...CAP, availableUSD: '0.10', neededUSD: '0.50' },
  });
  t.deepEqual(owner.asked('PatchChild'), []);
  t.is((owner.object.status as SweepStatus).phase, 'Running');
  owner.hear(0, 'Suspended', { reason: 'MaxCostReached', capped: { uid: 'job-0', limitUSD: '1.00' } }, 11);
  t.deepEqual(owner.asked('PatchChild'), [], 'a cap of its own stops nobody else');
  owner.hear(0, 'Suspended', { reason: 'MaxCostReached', capped: { uid: 'uid-0', limitUSD: '1.00' } }, 12);
  t.deepEqual(
    owner.asked('PatchChild').map(({ name, spec }) => [name, spec]),
    [[owner.job(0), { state: 'Suspended' }]],
  );
  t.like(owner.object.status, { phase: 'Suspended', reason: 'MaxCostReached' });
  t.is((owner.object.spec as { state: string }).state, 'Running');
  owner.change({ maxCostUSD: '2.00' });
  t.deepEqual(
    owner.effects.filter(({ type }) => type === 'Money'),
    [{ type: 'Money', operation: { op: 'SetCap', uid: 'uid-0', limitUSD: '2.00' } }],
  );
  t.deepEqual(
    owner.asked('PatchChild').map(({ spec }) => spec),
    [{ state: 'Running' }],
  );
  t.is(owner.asked('CreateChild').length, 1, 'the one that waited is tried again');
  t.is((owner.object.status as SweepStatus).phase, 'Running');
  owner.hear(0, 'Suspended', { reason: 'MaxCostReached', capped: { uid: 'uid-0', limitUSD: '1.00' } }, 13);
  t.deepEqual(owner.asked('PatchChild'), [], 'what was told before the cap was raised is no news');
});

test('a child that money refuses is made when there is money for it, and a cap that is used up suspends the whole', (t) => {
  const owner = sweep({ repetitions: 2, maxParallel: 2, maxCostUSD: '1.00' });
  const refuse = (epoch: number): string =>
    owner.decide({
      type: 'EffectFailed',
      effect: { type: 'CreateChild', kind: 'Job', name: owner.job(0), spec: {}, slot: 0 },
      ...{ reason: 'MaxCostReached', message: `try ${epoch}` },
      shortfall: { key: 'a', ...CAP, availableUSD: '0.10', neededUSD: '0.50' },
    });
  refuse(1);
  const told = (content: ObjectMessage): void => {
    const address = { org: 'o-1', kind: 'Sweep', project: 'a', name: 'one' };
    owner.decide({ type: 'MessageReceived', from: { address, uid: 'uid-0', version: 0 }, content });
  };
  told({ type: 'MoneyFreed', counter: 'cost/uid-0', stopped: false, count: 1 });
  t.deepEqual(
    owner.asked('CreateChild').map(({ name }) => name),
    [owner.job(0)],
  );
  refuse(2);
  owner.hear(1, 'Succeeded');
  told({ type: 'MoneyExhausted', counter: 'cost/uid-0', limitUSD: '1.00' });
  t.like(owner.object.status, { phase: 'Suspended', reason: 'MaxCostReached' });
});

test('a child whose start money refuses, after it rested, is asked to run again once there is money: of others, but for its own cap', (t) => {
  for (const [counter, by, wakes] of [
    ['budget/b/total', 'Budget', false],
    ['cost/uid-0', 'Cap', true],
  ] as const) {
    const owner = sweep({ repetitions: 2, maxParallel: 1 });
    owner.hear(0, 'Running');
    owner.change({ state: 'Suspended' });
    owner.hear(0, 'Suspended', {}, 11);
    owner.change({ state: 'Running' });
    const [start] = owner.asked('PatchChild');
    if (start === undefined) throw new Error('no start was asked for');
    const shortfall: HoldRefusal = {
      ...{ key: 'a', by, uid: 'b', name: 'team-a', counter, limitUSD: '1.00' },
      ...{ availableUSD: '0.10', neededUSD: '0.50' },
    };
    owner.decide({ type: 'EffectFailed', effect: start, reason: 'BudgetExceeded', message: 'refused', shortfall });
    t.like(
      owner.effects.find(({ type }) => type === 'ArmTimer'),
      { timer: 'resync', at: NOW + 60_000 },
    );
    t.like(owner.volatile[0], { type: 'AwaitMoney', counter, neededUSD: '0.50', count: 1 });
    const told = (stopped: boolean): readonly unknown[] => {
      const from = { address: owner.address, uid: 'uid-0', version: 0 };
      owner.decide({ type: 'MessageReceived', from, content: { type: 'MoneyFreed', counter, stopped, count: 1 } });
      return owner.asked('PatchChild').map(({ spec }) => spec);
    };
    t.deepEqual(told(!wakes), []);
    t.deepEqual(told(wakes), [{ state: 'Running' }]);
  }
});
