/** What an Attempt does when an effect of it could not be carried out. */
import test from 'ava';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import { ask, at, decided, NOW, objectOf, type Stored } from '../decide.js';

const OWNER = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };

function attempt(phase: AttemptStatus['phase'], kept: object): Stored {
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'a', ownerReferences: [OWNER] });
  return at({ ...object, status: { ...(object.status as AttemptStatus), phase } }, kept);
}

const failed = (type: string, reason: string, more: object = {}) =>
  ({ type: 'EffectFailed', effect: { type, ...more } as LaterEffect, reason, message: 'no' }) as const;

test('a stop or a removal that failed is tried again while there is something to end', (t) => {
  for (const type of ['StopWork', 'RemoveWork']) {
    for (const work of ['Live', 'Going']) {
      const { effects } = decided(attemptKind, attempt('Running', { work }), failed(type, 'Unavailable'));
      t.deepEqual(effects, [{ type: 'ArmTimer', timer: 'retry', at: NOW + 30_000 }], `${type} ${work}`);
    }
    for (const work of ['None', 'Gone']) {
      t.is(ask(attemptKind, attempt('Failed', { work }), failed(type, 'Unavailable')).outcome, 'Ignored', type);
    }
  }
});

test('a start that failed ends what has not begun, as a stop where one was asked for, and nothing else', (t) => {
  const ends = (kept: object): string => {
    const status = decided(attemptKind, attempt('Provisioning', kept), failed('StartWork', 'ImageNotFound')).object
      .status as AttemptStatus;
    return `${status.phase} ${status.reason}`;
  };
  t.is(ends({ work: 'Live' }), 'Failed ImageNotFound');
  t.is(ends({ work: 'Live', stopping: 'Suspended' }), 'Cancelled Suspended');
  const start = failed('StartWork', 'ImageNotFound');
  t.is(ask(attemptKind, attempt('Running', { work: 'Live' }), start).outcome, 'Ignored');
  t.is(ask(attemptKind, attempt('Provisioning', { work: 'Going' }), start).outcome, 'Ignored');
});

test('an owner that is not there needs no message, and every other message is said again', (t) => {
  const stored = attempt('Running', { work: 'Live' });
  const tell = (type: string, reason: string) =>
    ask(attemptKind, stored, failed('Tell', reason, { message: { type } }));
  t.is(tell('AttemptChanged', 'NotFound').outcome, 'Ignored');
  t.is(tell('AttemptChanged', 'Unavailable').outcome, 'Next');
  t.is(tell('PlaceWanted', 'NotFound').outcome, 'Next');
});

test('the time for a stop ends by force only what was asked to stop and lives', (t) => {
  const fired = { type: 'TimerFired', timer: 'stop', generation: 1 } as const;
  const stopping = attempt('Running', { work: 'Live', stopping: 'Stopped' });
  t.deepEqual(
    decided(attemptKind, stopping, fired).effects.map(({ type }) => type),
    ['RemoveWork'],
  );
  t.is(ask(attemptKind, attempt('Running', { work: 'Live' }), fired).outcome, 'Ignored');
  t.is(ask(attemptKind, attempt('Running', { work: 'Going', stopping: 'Stopped' }), fired).outcome, 'Ignored');
});

test('tried again, one that has ended tells its owner, and gives its place back once nothing is left', (t) => {
  const told = (phase: AttemptStatus['phase'], work: string): string[] =>
    decided(attemptKind, attempt(phase, { work }), {
      type: 'TimerFired',
      timer: 'retry',
      generation: 1,
    }).effects.flatMap((effect) => (effect.type === 'Tell' ? [effect.message.type] : []));
  t.true(told('Failed', 'Gone').includes('AttemptChanged'));
  t.true(told('Failed', 'Gone').includes('PlaceReleased'));
  t.true(told('Failed', 'Going').includes('AttemptChanged'));
  t.false(told('Failed', 'Going').includes('PlaceReleased'), 'something of it may run');
  t.false(told('Queued', 'None').includes('PlaceReleased'));
  t.false(told('Queued', 'None').includes('AttemptChanged'));
});
