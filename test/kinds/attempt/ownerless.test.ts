import test from 'ava';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import { WORK_FINALIZER } from '../../../src/kinds/attempt/state.js';
import { ask, at, decided, objectOf, type Stored } from '../decide.js';

const OWNER = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };

function attempt(phase: AttemptStatus['phase'], work: 'None' | 'Live' | 'Gone', owned: boolean): Stored {
  const finalizers = work === 'Live' ? [WORK_FINALIZER] : [];
  const ownerReferences = owned ? [OWNER] : [];
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { finalizers, ownerReferences });
  return at({ ...object, status: { ...(object.status as AttemptStatus), phase } }, { work });
}

const typesOf = (stored: Stored): readonly string[] =>
  decided(attemptKind, stored, { type: 'Activated' }).effects.map(({ type }) => type);

test('an Attempt that is opened without an owner stops its work and goes, in whichever phase it is', (t) => {
  const running = typesOf(attempt('Running', 'Live', false));
  t.true(running.includes('StopWork'), 'what runs gets its grace');
  t.true(running.includes('ArmTimer'), 'and ends by force after it');
  t.true(running.includes('DeleteSelf'));
  t.true(typesOf(attempt('Queued', 'None', false)).includes('DeleteSelf'));
  t.true(typesOf(attempt('Succeeded', 'Gone', false)).includes('DeleteSelf'));
});

test('an Attempt whose owner lets go of it does not go on', (t) => {
  const before = attempt('Running', 'Live', true).object;
  const message = { type: 'Updated', before, by: undefined } as const;
  const types = decided(attemptKind, attempt('Running', 'Live', false), message).effects.map(({ type }) => type);
  t.deepEqual(types, ['StopWork', 'ArmTimer', 'DeleteSelf']);
});

test('an Attempt that is opened with its owner goes on', (t) => {
  t.is(ask(attemptKind, attempt('Running', 'Live', true), { type: 'Activated' }).outcome, 'Volatile');
});
