/** What is stored and not done: effects, timers, objects under way; and older formats of them. */
import test from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { FORMATS, UnknownFormatError, upcast, type Format, type Formats } from '../../storage/formats.js';
import { openObjects } from '../../storage/objects.js';
import { openPending } from '../../storage/pending.js';
import { address, insert, openFixture, remove, update, versionOf } from './fixtures.js';

const effects: LaterEffect[] = [
  { type: 'StopWork', epoch: 3, graceSeconds: 30 },
  { type: 'DeleteChild', kind: 'Attempt', name: 'a-\u{1f600}"\\' },
];

test('effects come back oldest first, page by page, and are gone once they are done', async (t) => {
  const f = await openFixture(t);
  for (const name of ['a', 'b', 'c']) await f.committer.commit(insert(name, { effects }), undefined);
  await f.committer.commit(insert('none'), undefined);
  const first = await f.store.pending.effects(0, 2);
  t.deepEqual(first[0], { version: 1, address: address('a'), uid: 'uid-a', recalled: true, effects });
  t.deepEqual(
    first.map(({ version }) => version),
    [1, 2],
  );
  t.deepEqual(
    (await f.store.pending.effects(2, 2)).map(({ version }) => version),
    [3],
  );
  t.true((await f.store.pending.oldestEffectMs()) > 0);
  for (const { version, uid } of await f.store.pending.effects(0, 10)) f.store.pending.effectsDone(version, uid);
  const deadline = performance.now() + 5_000;
  while ((await f.store.pending.effects(0, 10)).length > 0 && performance.now() < deadline) await sleep(5);
  t.deepEqual(await f.store.pending.effects(0, 10), []);
  t.is(await f.store.pending.oldestEffectMs(), 0);
});

test('effects are read by org, those of some kinds apart from all others', async (t) => {
  const f = await openFixture(t);
  const of = (name: string, org: string, kind: string) =>
    insert(name, { effects, address: { ...address(name), org, kind } });
  const commits = [of('a', 'o-1', 'Job'), of('b', 'o-1', 'Attempt'), of('c', 'o-2', 'Job'), of('d', 'o-1', 'Job')];
  for (const commit of commits) await f.committer.commit(commit, undefined);
  const { pending } = f.store;
  const kinds = ['Attempt', 'Node'];
  t.deepEqual(
    [...(await pending.effectsOrgs(kinds))].toSorted((a, b) =>
      `${a.org}${a.among}`.localeCompare(`${b.org}${b.among}`),
    ),
    [
      { org: 'o-1', among: false },
      { org: 'o-1', among: true },
      { org: 'o-2', among: false },
    ],
  );
  const names = async (...read: Parameters<typeof pending.effects>) =>
    (await pending.effects(...read)).map((one) => one.address.name);
  t.deepEqual(await names(0, 10, { org: 'o-1', kinds, among: false }), ['a', 'd']);
  t.deepEqual(await names(1, 1, { org: 'o-1', kinds, among: false }), ['d']);
  t.deepEqual(await names(0, 10, { org: 'o-1', kinds, among: true }), ['b']);
});

test('effects that are done while a slow removal is under way are removed after it', async (t) => {
  const f = await openFixture(t);
  for (const name of ['a', 'b', 'c']) await f.committer.commit(insert(name, { effects }), undefined);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const slow: typeof f.store.postgres = {
    ...f.store.postgres,
    async write(...args) {
      begun += 1;
      await gate;
      return f.store.postgres.write(...args);
    },
  };
  const pending = openPending(slow);
  const deadline = performance.now() + 5_000;
  pending.effectsDone(1, 'uid-a');
  while (begun === 0 && performance.now() < deadline) await sleep(5);
  pending.effectsDone(2, 'uid-b');
  await sleep(100); // longer than done effects are collected
  open();
  pending.effectsDone(3, 'uid-c');
  while ((await pending.effects(0, 10)).length > 0 && performance.now() < deadline) await sleep(5);
  t.deepEqual(await pending.effects(0, 10), []);
  await pending.close();
});

test('an armed timer replaces lower generations only, and a clear takes none that is newer', async (t) => {
  const f = await openFixture(t);
  const arm = (generation: number, at: number) => ({ op: 'arm', timer: 't', generation, at }) as const;
  const clear = (generation: number) => ({ op: 'clear', timer: 't', generation }) as const;
  const due = async () => (await f.store.pending.timersDue(1e15, 10)).map(({ generation, at }) => [generation, at]);
  let version = versionOf(await f.committer.commit(insert('a', { timers: [arm(2, 1_700_000_000_123)] }), undefined));
  const next = async (...timers: (ReturnType<typeof arm> | ReturnType<typeof clear>)[]) => {
    version = versionOf(await f.committer.commit(update('a', version, { timers }), Buffer.alloc(0)));
  };
  t.deepEqual(await due(), [[2, 1_700_000_000_123]]);
  await next(arm(1, 5));
  t.deepEqual(await due(), [[2, 1_700_000_000_123]]);
  await next(clear(1));
  t.deepEqual(await due(), [[2, 1_700_000_000_123]]);
  await next(clear(2), arm(3, 2_000));
  t.deepEqual(await due(), [[3, 2_000]]);
  await next(arm(4, 3_000), clear(4));
  t.deepEqual(await due(), []);
});

test('due timers come soonest first, and can be read on from a time', async (t) => {
  const f = await openFixture(t);
  for (const at of [3_000, 1_000, 2_000])
    await f.committer.commit(insert(`t-${at}`, { timers: [{ op: 'arm', timer: 'x', generation: 1, at }] }), undefined);
  t.deepEqual(await f.store.pending.timersDue(2_500, 10), [
    { address: address('t-1000'), uid: 'uid-t-1000', timer: 'x', generation: 1, at: 1_000 },
    { address: address('t-2000'), uid: 'uid-t-2000', timer: 'x', generation: 1, at: 2_000 },
  ]);
  t.deepEqual(
    (await f.store.pending.timersDue(10_000, 1, 2_000)).map(({ at }) => at),
    [2_000],
  );
});

test('objects under way are found by kind, page by page, until they are not', async (t) => {
  const f = await openFixture(t);
  const versions = new Map<string, number>();
  for (const name of ['a', 'b', 'c'])
    versions.set(name, versionOf(await f.committer.commit(insert(name, { active: true }), undefined)));
  await f.committer.commit(insert('idle'), undefined);
  await f.committer.commit(
    insert('n', { active: true, address: address('n', { kind: 'Node', project: '' }) }),
    undefined,
  );
  const kinds = ['Job', 'Node'];
  const first = await f.store.pending.unfinished(kinds, 2);
  t.deepEqual(first, [address('a'), address('b')]);
  t.deepEqual(await f.store.pending.unfinished(kinds, 5, first[1]), [
    address('c'),
    address('n', { kind: 'Node', project: '' }),
  ]);
  await f.committer.commit(update('a', versions.get('a') ?? 0, { active: false }), Buffer.alloc(0));
  await f.committer.commit(remove('b', versions.get('b') ?? 0), Buffer.alloc(0));
  t.deepEqual(await f.store.pending.unfinished(['Job'], 5), [address('c')]);
});

test('a slot keeps its last row, the owner of a child is who it last named, events count their repeats', async (t) => {
  const f = await openFixture(t);
  const slot = (index: number, epoch: number, detail?: Record<string, unknown>) => ({
    index,
    epoch,
    phase: 'Running',
    failures: 0,
    ...(detail === undefined ? {} : { detail }),
  });
  const event = { event: 'job.started', reason: 'Started', message: 'm', status: '{}' };
  const v = versionOf(
    await f.committer.commit(
      insert('a', { owners: ['p', 'q'], slots: [slot(1, 1), slot(0, 1)], events: [event, event] }),
      undefined,
    ),
  );
  t.deepEqual(await f.store.objects.ownedBy('o-1', 'p', 10), [address('a')]);
  await f.committer.commit(
    update('a', v, {
      owners: ['q', 'r'],
      slots: [slot(1, 2), slot(1, 3, { n: [1] })],
      events: [{ ...event, message: 'later' }],
    }),
    Buffer.alloc(0),
  );
  t.deepEqual(await f.store.objects.slots('o-1', 'uid-a'), [slot(0, 1), slot(1, 3, { n: [1] })]);
  t.deepEqual(await f.store.objects.slots('o-2', 'uid-a'), []);
  t.deepEqual(await f.store.objects.ownedBy('o-1', 'p', 10), []);
  t.deepEqual(await f.store.objects.ownedBy('o-1', 'r', 10), [address('a')]);
  const events = await f.store.postgres.read({ name: 'e', text: 'SELECT sequence, message, count FROM events' });
  t.deepEqual(events, [{ sequence: 2, message: 'later', count: 3 }]);
});

test('credentials are found by hash, are one object’s, and end when they are revoked', async (t) => {
  const f = await openFixture(t);
  const sha256 = 'a'.repeat(64);
  const v = versionOf(
    await f.committer.commit(
      insert('a', { credentials: [{ sha256, expires: 1_700_000_000_500, detail: { scopes: ['*'] } }] }),
      undefined,
    ),
  );
  const found = { address: address('a'), uid: 'uid-a', expires: 1_700_000_000_500, detail: { scopes: ['*'] } };
  t.deepEqual(await f.store.credentials.find(sha256), found);
  await f.committer.commit(insert('thief', { credentials: [{ sha256, detail: {} }] }), undefined);
  t.deepEqual(await f.store.credentials.find(sha256), found);
  await f.committer.commit(
    update('a', v, { revokeCredentials: true, credentials: [{ sha256: 'b'.repeat(64), detail: {} }] }),
    Buffer.alloc(0),
  );
  t.is(await f.store.credentials.find(sha256), undefined);
  t.is((await f.store.credentials.find('b'.repeat(64)))?.uid, 'uid-a');
});

test('sealed secret versions are stored as they are and dropped below the version named', async (t) => {
  const f = await openFixture(t);
  const sealed = (n: number) => Buffer.from([0, 255, n]);
  const v = versionOf(
    await f.committer.commit(
      insert('s', { secrets: [1, 2, 3].map((version) => ({ version, sealed: sealed(version) })) }),
      undefined,
    ),
  );
  t.deepEqual(await f.store.fetchSealed('o-1', 'uid-s', 2), sealed(2));
  t.is(await f.store.fetchSealed('o-2', 'uid-s', 2), undefined);
  await f.committer.commit(update('s', v, { dropSecretsBelow: 3 }), Buffer.alloc(0));
  t.is(await f.store.fetchSealed('o-1', 'uid-s', 2), undefined);
  t.deepEqual(await f.store.fetchSealed('o-1', 'uid-s', 3), sealed(3));
});

test('rows of an older format are read in the current one, step by step; a newer one is refused by name', async (t) => {
  const f = await openFixture(t);
  await f.committer.commit(
    insert('old', {
      private: '{"n":1}',
      effects,
      timers: [{ op: 'arm', timer: 'x', generation: 1, at: 1_000 }],
      slots: [{ index: 0, epoch: 1, phase: 'Running', failures: 0, detail: { n: 1 } }],
    }),
    undefined,
  );
  // What a program of two formats later would know about the rows of today.
  const after = (what: keyof Formats, ...steps: readonly ((value: unknown) => unknown)[]): Format => {
    const { current } = FORMATS[what];
    return {
      current: current + steps.length,
      steps: Object.fromEntries(steps.map((step, i) => [current + i, step])),
    };
  };
  const later: Formats = {
    effects: after(
      'effects',
      (v) => (Array.isArray(v) ? v.slice(0, 1) : v),
      (v) => (Array.isArray(v) ? [...v, ...v] : v),
    ),
    private: after('private', (v) => ({ was: v })),
    slots: after('slots', (v) => ({ was: v })),
    timers: after('timers', (v) => ({ ...(v as object), timer: 'renamed' })),
    holds: FORMATS.holds,
  };
  const pending = openPending(f.store.postgres, later);
  const objects = openObjects(f.store.postgres, later);
  t.deepEqual((await pending.effects(0, 10))[0]?.effects, [effects[0], effects[0]]);
  t.is((await pending.timersDue(5_000, 10))[0]?.timer, 'renamed');
  t.is((await objects.read(address('old')))?.private, '{"was":{"n":1}}');
  t.deepEqual((await objects.slots('o-1', 'uid-old'))[0]?.detail, { was: { n: 1 } });
  await pending.close();

  await f.store.postgres.write({ name: 'newer', text: 'UPDATE effects SET format = 9' });
  await t.throwsAsync(f.store.pending.effects(0, 10), { instanceOf: UnknownFormatError, message: /effects.*format 9/ });
  t.throws(() => upcast('slots', -1, {}, FORMATS), { instanceOf: UnknownFormatError });
});

test('names of older formats are read as those of today: messages of stored effects, private state of what runs', (t) => {
  const to = { org: 'o', kind: 'Job', project: 'p', name: 'j' };
  const told = { type: 'Tell', to, uid: 'u', letter: { letter: 'ChildGone', uid: 'c', kind: 'Attempt' } };
  const collect = { type: 'CollectChildren', uid: 'u', orphan: false };
  t.deepEqual(upcast('effects', 0, [told, collect]), [
    { type: 'Tell', to, uid: 'u', message: { type: 'ChildGone', uid: 'c', kind: 'Attempt' } },
    { type: 'CollectChildren', uid: 'u', orphan: false, answer: false },
  ]);
  const live = { epoch: 2, phase: 'Running', stopping: false };
  t.deepEqual(
    upcast('private', 1, {
      epoch: 2,
      live: { ...live, heard: true },
      turning: { phase: 'Stopping', since: 7, told: true },
    }),
    { epoch: 2, live: { ...live, acknowledged: true }, transition: { phase: 'Stopping', since: 7, reported: true } },
  );
  t.deepEqual(upcast('private', 1, { epoch: 0, timers: {} }), { epoch: 0, timers: {} });
});
