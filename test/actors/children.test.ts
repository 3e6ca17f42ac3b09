/** The collection of an owner's children: what it costs while they go, and that it never waits for one that nobody asked. */
import test from 'ava';
import { createChild, patchChildEffect, type ChildrenDeps } from '../../actors/effects/children.js';
import { collectChildren, collectProject } from '../../actors/effects/collect.js';
import type { Address } from '../../src/api/address.js';
import { decodeObject, encodeObject } from '../../src/api/encode.js';
import { attemptKind } from '../../src/kinds/attempt/index.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { lifecycle } from '../../src/kinds/lifecycle.js';
import { jobKind } from '../../src/kinds/job/index.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import { sweepKind } from '../../src/kinds/sweep/index.js';

const owner: Address = { org: 'acme', kind: 'Job', project: 'default', name: 'owner' };
const row = { version: 1, address: owner, uid: 'owner-uid', effects: [] };

interface World {
  readonly deps: ChildrenDeps;
  readonly there: Map<string, { body: Buffer; owned: boolean; project: string }>;
  readonly told: string[];
  /** Children whose actors take nothing, and what each asks back. */
  readonly refusing: Map<string, { code: 'Unavailable' | 'Forbidden'; parked?: boolean }>;
  /** Children whose rows and bodies were read. */
  reads(): number;
}

/** `going` were asked before and are not gone yet; the others were not. */
function worldOf(count: number, going: (i: number) => boolean, sharedBy: (i: number) => boolean = () => false): World {
  const there: World['there'] = new Map();
  for (let i = 0; i < count; i++) {
    const name = `c${String(i).padStart(6, '0')}`;
    const reference = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner' };
    const body = encodeObject({
      apiVersion: 'svc.dev/v1',
      kind: 'Attempt',
      metadata: {
        ...{ name, namespace: 'default', uid: `uid-${i}`, generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
        ...(going(i) ? { deletionTimestamp: '2026-01-02T03:04:06Z' } : {}),
        ownerReferences: [
          { ...reference, uid: 'owner-uid' },
          ...(sharedBy(i) ? [{ ...reference, uid: 'other-uid' }] : []),
        ],
      },
      spec: {},
      status: {},
    });
    there.set(name, { body, owned: true, project: 'default' });
  }
  const told: string[] = [];
  const refusing: World['refusing'] = new Map();
  let reads = 0;
  const unused = (): never => {
    throw new Error('not asked for here');
  };
  const deps: ChildrenDeps = {
    kinds: [jobKind, attemptKind],
    objects: {
      async ownedBy(org, _uid, limit, after) {
        const names = [...there].filter(([name, { owned }]) => owned && name > (after?.name ?? '')).slice(0, limit);
        reads += names.length;
        return names.map(([name, { project }]) => ({ org, kind: 'Attempt', project, name }));
      },
      keys: unused,
      read: unused,
      slot: unused,
    },
    async read({ name }) {
      reads += 1;
      return there.get(name)?.body;
    },
    async write({ name }, write) {
      const child = there.get(name);
      const refusal = refusing.get(name);
      if (refusal && (refusal.code === 'Unavailable' || write.verb === 'delete'))
        return { outcome: 'Refused', refusal: { code: refusal.code, message: '' }, parked: refusal.parked };
      if (!child) return { outcome: 'Refused', refusal: { code: 'NotFound', message: '' } };
      const object = decodeObject(child.body);
      if (write.verb === 'delete') {
        const metadata = { ...object.metadata, deletionTimestamp: '2026-01-02T03:04:06Z' };
        child.body = encodeObject({ ...object, metadata });
      } else child.owned = false;
      return { outcome: 'Done', status: 200, body: child.body, etag: '1', warnings: [] };
    },
    quiet: unused,
    forgetBlobs: unused,
    async tell(_row, _to, _uid, message) {
      told.push(message.type);
      return { outcome: 'Done' };
    },
  };
  return { deps, there, told, refusing, reads: () => reads };
}

const collect = (more: object = {}): Extract<LaterEffect, { type: 'CollectChildren' }> => ({
  ...{ type: 'CollectChildren', uid: 'owner-uid', orphan: false, answer: true },
  ...more,
});

test('of ten thousand children that go one after another, each look costs the same few reads', async (t) => {
  const world = worldOf(10_000, () => true);
  for (let gone = 0; gone < 100; gone++) {
    world.there.delete([...world.there.keys()][50] ?? '');
    t.deepEqual(await collectChildren(row, collect({ again: true }), world.deps), { outcome: 'Done' });
  }
  t.true(world.reads() <= 100 * 33, `${world.reads()} reads for 100 looks`);
  t.deepEqual(world.told, [], 'nobody is told while children are left');
});

test('children that came after the others were asked are asked by the looks that follow', async (t) => {
  const world = worldOf(200, (i) => i < 100);
  let looks = 0;
  while (world.told.length === 0) {
    // One that was asked goes, and its owner looks again; were none of those left asked, it would wait for ever.
    const [gone] = [...world.there].find(([, { body }]) => decodeObject(body).metadata.deletionTimestamp) ?? [];
    if (gone === undefined) return t.fail(`${world.there.size} children are left, and none of them was asked to go`);
    world.there.delete(gone);
    await collectChildren(row, collect({ again: true }), world.deps);
    looks += 1;
  }
  t.is(looks, 200);
  t.deepEqual(world.told, ['ChildrenGone']);
});

test('children that another owner keeps hold nobody up, however many they are', async (t) => {
  const world = worldOf(
    100,
    () => false,
    () => true,
  );
  await collectChildren(row, collect({ again: true }), world.deps);
  t.deepEqual(world.told, ['ChildrenGone']);
  t.is(world.there.size, 100);
});

test('an orphaning owner lets go of what clients can delete, and takes with it what they cannot', async (t) => {
  const managed = worldOf(3, () => false);
  t.deepEqual(await collectChildren(row, collect({ orphan: true }), managed.deps), { outcome: 'Done' });
  t.true([...managed.there.values()].every(({ body }) => decodeObject(body).metadata.deletionTimestamp !== undefined));
  t.deepEqual(managed.told, [], 'it waits until they are gone');

  const jobs = worldOf(3, () => false);
  const ownedBy: World['deps']['objects']['ownedBy'] = async (...asked) =>
    (await jobs.deps.objects.ownedBy(...asked)).map((address) => ({ ...address, kind: 'Job' }));
  const deps = { ...jobs.deps, objects: { ...jobs.deps.objects, ownedBy } };
  await collectChildren(row, collect({ orphan: true }), deps);
  t.true([...jobs.there.values()].every(({ body }) => decodeObject(body).metadata.deletionTimestamp === undefined));
  t.deepEqual(jobs.told, ['ChildrenGone']);
});

test('a child that is parked or busy keeps the collection, and all the others are asked', async (t) => {
  const world = worldOf(50, () => false);
  world.refusing.set('c000003', { code: 'Unavailable', parked: true });
  world.refusing.set('c000004', { code: 'Forbidden' });
  const collection = collect({ answer: false });
  t.like(await collectChildren(row, collection, world.deps), { outcome: 'Wait' }, 'an operator has to act');
  world.refusing.set('c000003', { code: 'Unavailable' });
  t.like(await collectChildren(row, collection, world.deps), { outcome: 'Retry' });
  const going = [...world.there.values()].filter(({ body }) => decodeObject(body).metadata.deletionTimestamp);
  t.is(going.length, 48);
  t.false(world.there.get('c000004')?.owned, 'what may not be deleted is let go of');
  world.refusing.clear();
  t.like(await collectChildren(row, collection, world.deps), { outcome: 'Done' });
});

test('more children than are read at once are all asked', async (t) => {
  const world = worldOf(2_500, () => false);
  await collectChildren(row, collect({ answer: false }), world.deps);
  t.true([...world.there.values()].every(({ body }) => decodeObject(body).metadata.deletionTimestamp !== undefined));
});

test('a child in another project, whose message would not arrive, is asked to go and not waited for', async (t) => {
  const world = worldOf(1, () => true);
  for (const child of world.there.values()) child.project = 'elsewhere';
  await collectChildren(row, collect(), world.deps);
  t.deepEqual(world.told, ['ChildrenGone']);
});

test('an Attempt whose making was stored long ago is made only while its Job waits for it', async (t) => {
  const metadata = { name: 'owner', namespace: 'default', uid: 'owner-uid', generation: 1, creationTimestamp: '' };
  const body = encodeObject({ apiVersion: 'svc.dev/v1', kind: 'Job', metadata, spec: {}, status: {} });
  const made = async (slot: SlotRow | undefined, recalled: boolean): Promise<number> => {
    let creates = 0;
    const { deps } = worldOf(0, () => false);
    await createChild(
      { ...row, recalled },
      { type: 'CreateChild', kind: 'Attempt', name: 'owner-3-1', spec: { slot: 3, epoch: 1 } },
      {
        ...deps,
        kinds: [jobKind, attemptKind],
        read: async () => body,
        objects: {
          ...deps.objects,
          read: async (address) => ({ address, uid: 'owner-uid', version: 9, body, private: null }),
          slot: async (_org, _uid, index) => (index === 3 ? slot : undefined),
        },
        async write() {
          creates += 1;
          return { outcome: 'Done', status: 201, body, etag: '1', warnings: [] };
        },
      },
    );
    return creates;
  };
  const slot = (phase: string, epoch: number): SlotRow => ({ index: 3, epoch, phase, failures: 0 });
  t.is(await made(slot('Active', 1), true), 1);
  t.is(await made(undefined, false), 1, 'fresh from its commit');
  t.is(await made(slot('Succeeded', 1), true), 0);
  t.is(await made(slot('Active', 2), true), 0);
  t.is(await made(undefined, true), 0);
});

test('what a Sweep asked of a cell long ago is not asked again once it has asked for something else', async (t) => {
  const ownerReferences = [
    { apiVersion: 'svc.dev/v1', kind: 'Sweep', name: 'owner', uid: 'owner-uid', controller: true },
  ];
  const metadata = {
    ...{ name: 'owner-0', namespace: 'default', uid: 'job-0', generation: 1, creationTimestamp: '' },
    ownerReferences,
  };
  const job = encodeObject({ apiVersion: 'svc.dev/v1', kind: 'Job', metadata, spec: {}, status: {} });
  const patched = async (asked: string, recalled: boolean): Promise<number> => {
    let patches = 0;
    const { deps } = worldOf(0, () => false);
    await patchChildEffect.run(
      { ...row, address: { ...row.address, kind: 'Sweep' }, recalled },
      { type: 'PatchChild', kind: 'Job', name: 'owner-0', uid: 'job-0', spec: { state: 'Suspended' }, slot: 0 },
      {
        ...deps,
        kinds: [sweepKind, jobKind],
        read: async () => job,
        objects: {
          ...deps.objects,
          slot: async () => ({ index: 0, epoch: 1, phase: 'Active', failures: 0, detail: { uid: 'job-0', asked } }),
        },
        async write() {
          patches += 1;
          return { outcome: 'Done', status: 200, body: job, etag: '1', warnings: [] };
        },
      },
      { signal: new AbortController().signal } as never,
    );
    return patches;
  };
  t.is(await patched('Suspended', true), 1, 'a crash may have come before it');
  t.is(await patched('Running', true), 0, 'it was resumed since, and the crash came after that');
  t.is(await patched('Running', false), 1, 'fresh from its commit, in the order of its lane');
});

test('a collection of a project that is carried out again spares another project of that name, and one parked object no other', async (t) => {
  const asked: string[] = [];
  const uidOf = { now: 'owner-uid' };
  const { deps, told } = worldOf(0, () => false);
  const names = ['a', 'parked', 'z'];
  const world: ChildrenDeps = {
    ...deps,
    kinds: [jobKind, attemptKind],
    quiet: async () => undefined,
    async read() {
      const metadata = { name: 'owner', uid: uidOf.now, generation: 1, creationTimestamp: '' };
      return encodeObject({ apiVersion: 'v1', kind: 'Namespace', metadata, spec: {}, status: {} });
    },
    objects: {
      ...deps.objects,
      keys: async ({ after }) => ({
        ...{ version: 1, count: names.length, reached: undefined },
        keys: after ? [] : names.map((name) => ({ project: 'p', name, version: 1, bytes: 1 })),
      }),
    },
    async write({ kind, name }) {
      if (name === 'parked')
        return { outcome: 'Refused', refusal: { code: 'Unavailable', message: 'parked' }, parked: true };
      asked.push(`${kind}/${name}`);
      return { outcome: 'Done', status: 200, body: Buffer.alloc(0), etag: '1', warnings: [] };
    },
  };
  const project = { type: 'CollectProject', project: 'p' } as const;
  uidOf.now = 'another-uid';
  t.deepEqual(await collectProject(row, project, world), { outcome: 'Done' });
  t.deepEqual(asked, []);
  uidOf.now = 'owner-uid';
  t.like(await collectProject(row, project, world), { outcome: 'Wait' });
  t.deepEqual(asked, ['Job/a', 'Job/z', 'Attempt/a', 'Attempt/z']);
  t.deepEqual(told, []);
});

test('a collection that comes back to an owner which waits for it is asked for again', (t) => {
  const metadata = {
    ...{ name: 'owner', uid: 'owner-uid', generation: 1, creationTimestamp: '', finalizers: ['foregroundDeletion'] },
    deletionTimestamp: '2026-01-02T03:04:06Z',
  };
  const object = { apiVersion: 'svc.dev/v1', kind: 'Job', metadata, spec: {}, status: {} };
  const failed = { type: 'EffectFailed', effect: collect(), reason: 'RetriesExhausted', message: '' } as const;
  t.like(lifecycle(object, failed), { effects: [collect()], consumed: true });
  t.deepEqual(lifecycle({ ...object, metadata: { ...metadata, finalizers: [] } }, failed).effects, []);
});
