/** Which blobs the commits of an object say that it keeps. */
import test from 'ava';
import { openDraft, type Draft } from '../../actors/resource/draft.js';
import { commitRequestOf, type Basis } from '../../actors/resource/commit-request.js';
import { encodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { attemptKind } from '../../src/kinds/attempt/index.js';
import { jobKind } from '../../src/kinds/job/index.js';
import { sandboxKind } from '../../src/kinds/sandbox/index.js';
import { volumeKind } from '../../src/kinds/volume/index.js';

const blob = `sha256:${'a'.repeat(64)}`;
const ADDRESS = { org: 'o-1', kind: 'Job', project: 'default', name: 'j' };

function draft(phase: string, source: object | undefined): Draft {
  const metadata = { name: 'j', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
  const object = { apiVersion: 'x/v1', kind: 'Job', metadata, spec: { source }, status: { phase } };
  return openDraft(ADDRESS, 1, object as unknown as ApiObject, undefined, undefined);
}

function keptBy(
  phase: string,
  source: object | undefined,
  isNew: boolean,
  gone = false,
): readonly string[] | undefined {
  const next = draft(phase, source);
  next.gone = gone;
  const basis: Basis = {
    version: 1,
    body: encodeObject(draft('Before', source).object),
    owners: [],
    blobs: source === undefined ? [] : (jobKind.blobs?.(draft('Before', source).object) ?? []),
  };
  const request = commitRequestOf(next, jobKind, isNew ? undefined : basis, [], { nextGeneration: () => 1 });
  return request?.blobs;
}

test('a Job keeps the blob of its source from its admission to its end, however long it is Suspended', (t) => {
  t.deepEqual(keptBy('Suspended', { blob }, true), [blob]);
  t.is(keptBy('Running', { blob }, false), undefined, 'as before');
  for (const phase of ['Succeeded', 'Failed', 'Cancelled']) t.deepEqual(keptBy(phase, { blob }, false), [], phase);
  t.is(keptBy('Running', { blob }, false, true), undefined, 'its deletion lets go by itself');
  t.is(keptBy('Suspended', undefined, true), undefined);
  t.is(keptBy('Suspended', { git: { repo: 'a/b' } }, true), undefined);
});

test('an Attempt keeps the outputs that its commits name, also when it has ended, until its owner has taken them', (t) => {
  const attempt = (outputs: readonly object[] | undefined): Draft => {
    const next = draft('Succeeded', undefined);
    next.object = { ...next.object, kind: 'Attempt' };
    next.private = { work: 'Gone', outputs };
    next.privateChanged = true;
    return next;
  };
  const basis = (blobs: readonly string[]): Basis => ({
    ...{ version: 1, body: encodeObject(draft('Running', undefined).object), owners: [], blobs },
  });
  const keptByAttempt = (outputs: readonly object[] | undefined, blobs: readonly string[]) =>
    commitRequestOf(attempt(outputs), attemptKind, basis(blobs), [], { nextGeneration: () => 1 })?.blobs;
  const outputs = [
    { name: 'a', sha256: blob },
    { name: 'b', sha256: blob },
    { name: 'too-large', sha256: '' },
  ];
  t.deepEqual(keptByAttempt(outputs, []), [blob]);
  t.is(keptByAttempt(outputs, [blob]), undefined, 'as before');
  t.deepEqual(keptByAttempt(undefined, [blob]), []);
});

/** `digest` stands in the snapshot of its status, where `before` stood. */
function keptBySandbox(digest: string | undefined, before: string | undefined): readonly string[] | undefined {
  const next = draft('Stopped', undefined);
  next.object = { ...next.object, kind: 'Sandbox', status: { snapshot: { digest } } };
  const blobs = before === undefined ? [] : [before];
  const basis: Basis = { version: 1, body: encodeObject(draft('Before', undefined).object), owners: [], blobs };
  return commitRequestOf(next, sandboxKind, basis, [], { nextGeneration: () => 1 })?.blobs;
}

test('a Sandbox keeps its snapshot until the next one replaces it, in the commit that does', (t) => {
  const newer = `sha256:${'b'.repeat(64)}`;
  t.deepEqual(keptBySandbox(blob, undefined), [blob]);
  t.is(keptBySandbox(blob, blob), undefined, 'as before');
  t.deepEqual(keptBySandbox(newer, blob), [newer]);
  t.deepEqual(keptBySandbox(undefined, blob), [], 'an Ephemeral one keeps nothing');
  t.is(keptBySandbox(undefined, undefined), undefined);
});

test('a Volume keeps the blobs of all revisions that it has, which no status names', (t) => {
  const [first, second, third] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`);
  const next = draft('Ready', undefined);
  next.object = { ...next.object, kind: 'Volume' };
  next.private = { revisions: [{ digest: third }, { digest: second }] };
  const body = encodeObject(draft('Before', undefined).object);
  const basis: Basis = { version: 1, body, owners: [], blobs: [second ?? '', first ?? ''] };
  t.deepEqual(commitRequestOf(next, volumeKind, basis, [], { nextGeneration: () => 1 })?.blobs, [third, second]);
});
