/** What costs a Volume a commit and what does not. Pure. */
import test from 'ava';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import type { VolumeStatus } from '../../../src/kinds/volume/schema.js';
import { ask, at, contextAt, decided, NOW, objectOf, type Next } from '../decide.js';

const from = (name: string, version = 1) => ({
  address: { org: 'o-1', kind: 'Workspace', project: 'default', name },
  uid: `uid-${name}`,
  version,
});
/** A writer asks anew for each of its epochs. */
const wanted = (epoch: number): ObjectMessage => ({
  ...({ type: 'LeaseWanted', term: epoch, epoch, attempt: `desk-${epoch}` } as const),
});
const hear = (name: string, content: ObjectMessage) =>
  ({ type: 'MessageReceived', from: from(name), content }) as const;

const born = () => decided(volumeKind, at(objectOf(volumeKind, { accessMode: 'ReadWriteOnce' })), { type: 'Created' });

test('the first writer gets the lease, which holds the Volume; asking again for the same costs no commit', (t) => {
  const held = decided(volumeKind, born(), hear('desk', wanted(1)));
  t.deepEqual((held.object.status as VolumeStatus).holder, {
    ...{ attempt: 'desk-1', epoch: 1, kind: 'Workspace', name: 'desk' },
  });
  t.is(held.object.metadata.finalizers?.length, 1);
  const again = ask(volumeKind, held, hear('desk', wanted(1)));
  t.is(again.outcome, 'Volatile', 'it is answered');
  const renewed = decided(volumeKind, held, hear('desk', wanted(2)));
  t.is((renewed.object.status as VolumeStatus).holder?.epoch, 2, 'a later epoch is news');
});

test('what changes nothing and asks nothing is no decision', (t) => {
  const rested = born();
  t.is(ask(volumeKind, rested, { type: 'Activated' }).outcome, 'Ignored');
  t.is(ask(volumeKind, rested, { type: 'TimerFired', timer: 'unused', generation: 1 }).outcome, 'Ignored');
});

test('the writer that returns the lease lets go of the Volume', (t) => {
  const held = decided(volumeKind, born(), hear('desk', wanted(1)));
  const digest = `sha256:${'a'.repeat(64)}`;
  const back = decided(
    volumeKind,
    held,
    hear('desk', {
      type: 'LeaseReturned',
      uid: 'uid-desk',
      term: 1,
      saved: { digest, size: 10, logical: 30, time: NOW },
    }),
  );
  const status = back.object.status as VolumeStatus;
  t.is(status.holder, undefined);
  t.deepEqual(back.object.metadata.finalizers, []);
  t.deepEqual(status.storage, { bytes: 30, billedBytes: 10 });
});

const MINUTE = 60_000;
const returned = (term: number, digest?: string, more: object = {}): ObjectMessage => ({
  ...{ type: 'LeaseReturned', uid: 'uid-desk', term },
  ...(digest !== undefined && { saved: { digest: `sha256:${digest.repeat(64)}`, size: 10, time: NOW, ...more } }),
});
const timersOf = (effects: Next['effects']): readonly string[] =>
  effects.flatMap((effect) => {
    if (effect.type === 'CancelTimer') return [`no ${effect.timer}`];
    return effect.type === 'ArmTimer' ? [`${effect.timer} ${(effect.at - NOW) / MINUTE}`] : [];
  });

test('a Volume goes when nobody has used it for its time, which begins anew with each use, and is armed once', (t) => {
  const spec = { accessMode: 'ReadWriteOnce', ttlAfterUnused: '10m' };
  const fresh = decided(volumeKind, at(objectOf(volumeKind, spec)), { type: 'Created' });
  t.deepEqual(timersOf(fresh.effects), [], 'it was never used');
  const held = decided(volumeKind, fresh, hear('desk', wanted(1)));
  t.deepEqual(timersOf(held.effects), [], 'it is used');
  const free = decided(volumeKind, held, hear('desk', returned(1)));
  t.deepEqual(timersOf(free.effects), ['unused 10']);
  const fired = { type: 'TimerFired', timer: 'unused', generation: 1 } as const;
  t.is(ask(volumeKind, free, { type: 'Updated', before: free.object }).outcome, 'Ignored', 'it is armed');
  t.deepEqual(timersOf(decided(volumeKind, free, fired, contextAt(NOW + 10 * MINUTE - 1)).effects), ['unused 10']);
  const gone = decided(volumeKind, free, fired, contextAt(NOW + 10 * MINUTE));
  t.deepEqual(gone.effects, [{ type: 'DeleteSelf' }]);
  const again = decided(volumeKind, free, hear('desk', wanted(2)), contextAt(NOW + MINUTE));
  t.deepEqual(timersOf(again.effects), ['no unused']);
  const later = decided(volumeKind, again, hear('desk', returned(2)), contextAt(NOW + 5 * MINUTE));
  t.deepEqual(timersOf(later.effects), ['unused 15']);
  const metadata = { ...free.object.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' };
  const deleted = decided(volumeKind, { ...free, object: { ...free.object, metadata } }, { type: 'DeletionRequested' });
  t.deepEqual(timersOf(deleted.effects), ['no unused'], 'it goes anyhow');
});

test('a Volume shows its newest revision, and bills what all of them take', (t) => {
  let stored = decided(volumeKind, at(objectOf(volumeKind, { revisionHistoryLimit: 2 })), { type: 'Created' });
  const shown = (): object => {
    const { revision, used, storage, lastCommitTime, readers, conditions } = stored.object.status as VolumeStatus;
    return { revision, used, storage, lastCommitTime, readers, reason: conditions?.[0]?.reason };
  };
  const none = { revision: undefined, used: '0', lastCommitTime: undefined, readers: 0, reason: 'Empty' };
  t.deepEqual(shown(), { ...none, storage: { bytes: 0, billedBytes: 0 } });
  const save = (term: number, digest: string, more: object): void => {
    stored = decided(volumeKind, stored, hear('desk', wanted(term)));
    stored = decided(volumeKind, stored, hear('desk', returned(term, digest, more)));
  };
  const some = { lastCommitTime: '2026-01-02T03:04:05Z', readers: 0, reason: 'Committed' };
  save(1, 'a', { size: 1024 });
  t.deepEqual(shown(), { ...some, revision: '1', used: '1Ki', storage: { bytes: 1024, billedBytes: 1024 } });
  save(2, 'b', { size: 10, logical: 2048 });
  t.deepEqual(shown(), { ...some, revision: '2', used: '2Ki', storage: { bytes: 3072, billedBytes: 1034 } });
  save(3, 'b', { size: 10, logical: 2048 });
  t.like(shown(), { revision: '2' }, 'the files are the same');
  save(4, 'c', { size: 1, logical: 3 });
  t.deepEqual(shown(), { ...some, revision: '3', used: '3', storage: { bytes: 2051, billedBytes: 11 } });
});

test('a holder that is not there any more lets go of the Volume, and so does nobody else', (t) => {
  const held = decided(volumeKind, born(), hear('desk', wanted(1)));
  const fails = (to: object, reason: string, type = 'Tell'): Message => {
    const effect = { type, to: { ...from('desk').address, ...to }, message: { type: 'LeaseChecked' } };
    return { type: 'EffectFailed', effect: effect as LaterEffect, reason, message: '' };
  };
  t.is(ask(volumeKind, held, fails({ name: 'other' }, 'NotFound')).outcome, 'Ignored');
  t.is(ask(volumeKind, held, fails({ kind: 'Sandbox' }, 'NotFound')).outcome, 'Ignored');
  t.is(ask(volumeKind, held, fails({}, 'RetriesExhausted')).outcome, 'Ignored', 'it may be there');
  t.is(ask(volumeKind, held, fails({}, 'NotFound', 'DeleteChild')).outcome, 'Ignored');
  t.is(ask(volumeKind, born(), fails({}, 'NotFound')).outcome, 'Ignored');
  const free = decided(volumeKind, held, fails({}, 'NotFound'));
  t.is((free.object.status as VolumeStatus).holder, undefined);
  t.deepEqual(free.object.metadata.finalizers, []);
});

test('a Volume under deletion asks its holder whether it still writes, and any other asks nobody', (t) => {
  const held = decided(volumeKind, born(), hear('desk', wanted(1)));
  const metadata = { ...held.object.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' };
  const going = { ...held, object: { ...held.object, metadata } };
  for (const message of [{ type: 'DeletionRequested' }, { type: 'Activated' }] as const) {
    const decision = ask(volumeKind, going, message);
    t.deepEqual(decision.outcome === 'Volatile' && decision.volatile.map((effect) => effect.type), ['Tell']);
    t.is(ask(volumeKind, held, message).outcome, 'Ignored');
    const free = { ...born(), object: { ...born().object, metadata: { ...metadata, finalizers: [] } } };
    t.is(ask(volumeKind, free, message).outcome, 'Ignored');
  }
});

test("the lease's finalizer stands beside those of clients, and goes alone", (t) => {
  const fresh = born();
  const metadata = { ...fresh.object.metadata, finalizers: ['example.org/hold'] };
  const held = decided(volumeKind, { ...fresh, object: { ...fresh.object, metadata } }, hear('desk', wanted(1)));
  t.deepEqual(held.object.metadata.finalizers, ['example.org/hold', 'svc.dev/lease']);
  const free = decided(volumeKind, held, hear('desk', returned(1)));
  t.deepEqual(free.object.metadata.finalizers, ['example.org/hold']);
});
