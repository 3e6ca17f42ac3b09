/** What an object's work runs once it was noted what its image's name stands for. */
import test from 'ava';
import { pinned } from '../../src/kinds/image/catalog.js';
import { pinImage, plannedImage } from '../../src/kinds/image/pin.js';

const [FIRST, SECOND] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];

test('the first note of an image holds: later work runs it, and a later note changes nothing', (t) => {
  const reference = 'registry.example.org:5000/team/tools:1';
  const fresh = pinned(reference);
  t.deepEqual(fresh, { reference });
  t.like(plannedImage(reference, fresh), { image: reference, imageDigest: undefined, notesImage: true });
  const noted = pinImage(reference, { ...fresh, user: 'root' }, FIRST);
  t.deepEqual(noted, { reference, user: 'root', digest: FIRST });
  t.like(plannedImage(reference, noted), { image: reference, imageDigest: FIRST, notesImage: false });
  t.is(pinImage(reference, noted, SECOND), undefined);
  t.is(pinImage(reference, noted, FIRST), undefined);
});

test('an image of the catalog is pinned to what stands for it on an engine that has images', (t) => {
  const reference = 'svc/agent-tools';
  const fresh = pinned(reference);
  t.like(plannedImage(reference, fresh), { imageDigest: undefined, notesImage: true });
  const noted = pinImage(reference, fresh, FIRST);
  t.deepEqual(noted, { reference, digest: FIRST });
  t.like(plannedImage(reference, noted), { imageDigest: FIRST, notesImage: false });
  t.is(pinImage(reference, noted, SECOND), undefined);
});

test('an image that is named by its digest is pinned by its name', (t) => {
  const reference = `team/tools@${FIRST}`;
  const fresh = pinned(reference);
  t.like(plannedImage(reference, fresh), { image: reference, imageDigest: undefined, notesImage: false });
  t.is(pinImage(reference, fresh, FIRST), undefined);
});

test('an object from before notes were taken gets one at its next start', (t) => {
  t.like(plannedImage('tools:1', undefined), { notesImage: true });
  t.deepEqual(pinImage('tools:1', undefined, FIRST), { reference: 'tools:1', digest: FIRST });
});
