import test from 'ava';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import type { Message } from '../../../src/kinds/machine.js';
import { ask, at, decided, objectOf, type Stored } from '../decide.js';

const EPOCH = 3;

function attempt(status: Partial<AttemptStatus>): Stored {
  const object = objectOf(attemptKind, { epoch: EPOCH, slot: 0 });
  return at({ ...object, status: { ...(object.status as AttemptStatus), ...status } }, { work: 'Live' });
}

function says(completed: number, total?: number, epoch = EPOCH): Message {
  const address = { org: 'o-1', kind: 'Attempt', project: 'default', name: 'one' };
  const message = { type: 'ProgressMade', epoch, completed, total } as const;
  return { type: 'MessageReceived', from: { address, uid: 'uid-0', version: 0 }, content: message };
}

const RUNNING = { phase: 'Running', progress: { stage: 'Running' } } as const;

test('what running work says of its progress is noted beside its stage, and a repeat costs nothing', (t) => {
  const noted = decided(attemptKind, attempt(RUNNING), says(3, 10));
  t.deepEqual((noted.object.status as AttemptStatus).progress, { stage: 'Running', completed: 3, total: 10 });
  t.is(ask(attemptKind, noted, says(3, 10)).outcome, 'Ignored');
  t.is(ask(attemptKind, noted, says(4, 10)).outcome, 'Next');
  t.is(ask(attemptKind, noted, says(3, 11)).outcome, 'Next', 'there is more to do');
  const more = decided(attemptKind, noted, says(4));
  t.is((more.object.status as AttemptStatus).progress?.completed, 4);
  t.is((more.object.status as AttemptStatus).progress?.total, undefined);
});

test('another epoch, and work that has ended, have no progress to tell', (t) => {
  for (const epoch of [EPOCH - 1, EPOCH + 1]) {
    t.is(ask(attemptKind, attempt(RUNNING), says(3, 10, epoch)).outcome, 'Ignored', `epoch ${epoch}`);
  }
  for (const phase of ['Queued', 'Succeeded', 'Failed', 'Cancelled'] as const) {
    t.is(ask(attemptKind, attempt({ phase }), says(3, 10)).outcome, 'Ignored', phase);
  }
});

test('what was said last is still there after the end', (t) => {
  const noted = decided(attemptKind, attempt(RUNNING), says(3, 10));
  const report = { report: 'Exited', epoch: EPOCH, time: 0, exitCode: 0, outOfMemory: false, outputs: [] } as const;
  const ended = decided(attemptKind, noted, { type: 'Reported', report });
  t.deepEqual((ended.object.status as AttemptStatus).progress, { stage: 'Succeeded', completed: 3, total: 10 });
});

test('an owner that asks is told how the Attempt stands, and one that means another epoch is not', (t) => {
  const reference = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };
  const stored = attempt(RUNNING);
  const metadata = { ...stored.object.metadata, namespace: 'a', ownerReferences: [reference] };
  const owned = { ...stored, object: { ...stored.object, metadata } };
  const asks = (epoch: number) => {
    const address = { org: 'o-1', kind: 'Job', project: 'a', name: 'owner' };
    const content = { type: 'AttemptAsked', epoch } as const;
    return ask(attemptKind, owned, {
      type: 'MessageReceived',
      from: { address, uid: 'owner-uid', version: 0 },
      content,
    });
  };
  const told = asks(EPOCH);
  t.is(told.outcome, 'Volatile');
  t.like(told.outcome === 'Volatile' ? told.volatile[0] : {}, {
    type: 'Tell',
    uid: 'owner-uid',
    message: { type: 'AttemptChanged', epoch: EPOCH, phase: 'Running' },
  });
  t.is(asks(EPOCH - 1).outcome, 'Ignored');
});
