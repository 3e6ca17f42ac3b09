/** What costs a Volume a commit and what does not. Pure. */
import test from 'ava';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import type { VolumeStatus } from '../../../src/kinds/volume/schema.js';
import { ask, at, decided, NOW, objectOf } from '../decide.js';

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
