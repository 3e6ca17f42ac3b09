/** Lists read in steps: how much each reads and holds, counted over a store that tells. */
import test from 'ava';
import { openCache } from '../../actors/cache.js';
import { inTurns, openReadTurns } from '../../actors/read-turns.js';
import { listObjects, type ListDeps } from '../../actors/reads.js';
import { openSlices } from '../../actors/slices.js';
import type { Address } from '../../src/api/address.js';
import { encodeObject, stampVersion } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { KeyRange, Keys, ObjectKey, Objects, StoredObject } from '../../storage/store.js';

const RANGE = { org: 'acme', kind: { kind: 'Job' } as KindDefinition, project: 'default' };
const MIB = 1024 * 1024;

interface Told {
  keys: number;
  bodies: number;
  statements: number;
  /** Most bytes of bodies that one statement answered. */
  mostBytes: number;
}

interface World {
  readonly deps: ListDeps;
  readonly told: Told;
  readonly objects: StoredObject[];
  /** These were changed after the list's version. */
  readonly changed: Set<string>;
}

function stored(i: number, pad: number): StoredObject {
  const address: Address = { org: 'acme', kind: 'Job', project: 'default', name: `j${String(i).padStart(6, '0')}` };
  const metadata = { name: address.name, namespace: 'default', uid: `u-${i}`, generation: 1 };
  const object = {
    apiVersion: 'svc.dev/v1',
    kind: 'Job',
    metadata: { ...metadata, creationTimestamp: '2026-01-02T03:04:05Z' },
    spec: { pad: 'x'.repeat(pad) },
    status: {},
  };
  return { address, uid: `u-${i}`, version: i + 1, body: stampVersion(encodeObject(object), i + 1), private: null };
}

function worldOf(count: number, pad: number, cacheBytes = MIB): World {
  const objects = Array.from({ length: count }, (_, i) => stored(i, pad));
  const told: Told = { keys: 0, bodies: 0, statements: 0, mostBytes: 0 };
  const changed = new Set<string>();
  const keyOf = ({ address, version, body }: StoredObject): ObjectKey => ({
    ...{ project: address.project, name: address.name },
    ...{ version, bytes: body.length },
  });
  function keys({ after, limit }: KeyRange): Keys {
    const from = after === undefined ? 0 : objects.findIndex(({ address }) => address.name > after.name);
    const found = from < 0 ? [] : objects.slice(from, from + limit).map(keyOf);
    told.statements += 1;
    told.keys += found.length;
    return { keys: found, reached: found.length < limit ? undefined : found.at(-1) };
  }
  function bodies(asked: readonly ObjectKey[], which: (name: string) => boolean): StoredObject[] {
    const wanted = new Set(asked.map(({ name }) => name).filter(which));
    const found = objects.filter(({ address }) => wanted.has(address.name));
    told.statements += 1;
    told.bodies += found.length;
    told.mostBytes = Math.max(
      told.mostBytes,
      found.reduce((sum, { body }) => sum + body.length, 0),
    );
    return found;
  }
  const store: Pick<Objects, 'keys' | 'keysAt' | 'readMany' | 'statesAt'> = {
    keys: async (range) => ({ ...keys(range), version: count, count }),
    keysAt: async (range) => ({ outcome: 'Keys', ...keys(range) }),
    readMany: async (_org, _kind, asked) => bodies(asked, (name) => !changed.has(name)),
    statesAt: async (_org, _kind, asked) => ({
      outcome: 'States',
      objects: bodies(asked, (name) => changed.has(name)),
    }),
  };
  const deps = {
    cache: openCache(cacheBytes),
    objects: store as Objects,
    turn: openReadTurns({ places: 4, shared: false }),
    slices: openSlices(4),
  };
  return { deps, told, objects, changed };
}

async function names(items: AsyncIterable<readonly Buffer[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const group of items)
    for (const body of group) found.push(/"name":"([^"]+)"/.exec(body.toString())?.[1] ?? '');
  return found;
}

test('a page reads as many keys and bodies as it shows, wherever it begins and however many objects there are', async (t) => {
  for (const count of [2_000, 20_000]) {
    const world = worldOf(count, 10);
    const { signal } = new AbortController();
    const nameAt = (i: number): string => world.objects[i]?.address.name ?? '';
    for (const begin of [0, count / 2, count - 501]) {
      Object.assign(world.told, { keys: 0, bodies: 0, statements: 0 });
      const after = begin === 0 ? undefined : { project: 'default', name: nameAt(begin - 1) };
      const page = await listObjects({ range: RANGE, version: count, after, limit: 501, signal }, world.deps);
      const shown = await names(page.items);
      t.is(shown.length, 501);
      t.is(shown[0], nameAt(begin));
      t.is(world.told.keys, 501);
      t.true(world.told.bodies <= 501, `${world.told.bodies} bodies`);
      t.true(world.told.statements <= 4, `${world.told.statements} statements`);
    }
  }
});

test('a list reads on only when what it has read is taken', async (t) => {
  const world = worldOf(20_000, 10);
  const { items } = await listObjects({ range: RANGE, signal: new AbortController().signal }, world.deps);
  const reading = items[Symbol.asyncIterator]();
  await reading.next();
  t.is(world.told.keys, 1_000, 'the first keys');
  t.true(world.told.bodies <= 250);
  await reading.return?.();
  t.is(world.told.keys, 1_000);
});

test('what a list hands on is bounded in number and bytes, and each piece waits for a slice of the event loop', async (t) => {
  for (const [count, pad] of [
    [1_000, 10],
    [400, 2_000],
  ] as const) {
    const world = worldOf(count, pad, 8 * MIB);
    let slices = 0;
    const next = async (): Promise<void> => void (slices += 1);
    const { signal } = new AbortController();
    // The second time all bodies come from the cache.
    for (const _ of ['from Postgres', 'from the cache']) {
      slices = 0;
      const { items } = await listObjects({ range: RANGE, signal }, { ...world.deps, slices: { next } });
      let pieces = 0;
      for await (const piece of items) {
        pieces += 1;
        t.is(slices, pieces);
        t.true(piece.length <= 100);
        t.true(piece.reduce((sum, { length }) => sum + length, 0) <= 128 * 1024);
      }
      t.true(pieces >= 10 || pad === 2_000);
      t.true(pieces >= 6);
    }
  }
});

test('large objects are read one by one, however many a page may have', async (t) => {
  const world = worldOf(12, 3 * MIB, 8 * MIB);
  const { signal } = new AbortController();
  const { items } = await listObjects({ range: RANGE, limit: 501, signal }, world.deps);
  t.is((await names(items)).length, 12);
  t.true(world.told.mostBytes < 4 * MIB, `${world.told.mostBytes} bytes at once`);
});

test('what was changed after the version of a list is shown as it was', async (t) => {
  const world = worldOf(1_500, 10);
  for (const i of [0, 700, 1_499]) world.changed.add(world.objects[i]?.address.name ?? '');
  const { items } = await listObjects({ range: RANGE, signal: new AbortController().signal }, world.deps);
  t.deepEqual(
    await names(items),
    world.objects.map(({ address }) => address.name),
  );
});

test('a list larger than the cache leaves in it most of what was there', async (t) => {
  const world = worldOf(10_000, 1_000, 4 * MIB);
  for (const object of world.objects.slice(5_000, 7_000)) world.deps.cache.fill(object, 0);
  const kept = (): number =>
    world.objects.slice(5_000, 7_000).filter(({ address }) => world.deps.cache.get(address) !== undefined).length;
  const before = kept();
  const after = { project: 'default', name: world.objects[7_000]?.address.name ?? '' };
  const { signal } = new AbortController();
  await names((await listObjects({ range: RANGE, version: 10_000, after, signal }, world.deps)).items);
  t.true(kept() > before * 0.8, `${kept()} of ${before}`);
});

test('a hundred lists of one org go before a list of another once for each of its own', async (t) => {
  const turn = openReadTurns({ places: 1, shared: false });
  const begun: string[] = [];
  const list = (org: string): Promise<number> =>
    turn(org, () => {
      begun.push(org);
      return Promise.resolve(begun.length);
    });
  await Promise.all([...Array.from({ length: 100 }, () => list('greedy')), list('modest')]);
  t.true(begun.indexOf('modest') <= 2, begun.slice(0, 5).join());
});

test('lists read a few at a time, in the order in which they asked, and one that fails gives its turn on', async (t) => {
  const turn = openReadTurns({ places: 2, shared: false });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const read = (n: number) => (): Promise<number> => {
    begun.push(n);
    return new Promise((resolve, reject) => ends.push(() => (n === 1 ? reject(new Error('no')) : resolve(n))));
  };
  const all = [0, 1, 2, 3].map((n) => turn('acme', read(n)).catch(() => -1));
  t.deepEqual(begun, [0, 1]);
  ends[1]?.();
  await all[1];
  t.deepEqual(begun, [0, 1, 2]);
  for (let n = 0; n < 4; n += 1) {
    ends[n]?.();
    if (n === 2) await all[2];
    if (n === 0) await all[0];
  }
  t.deepEqual(await Promise.all(all), [0, -1, 2, 3]);
});

test('thousands of single reads of one org take half of the readers, and another org reads at once', async (t) => {
  const turn = openReadTurns({ places: 8, shared: true });
  const hanging: (() => void)[] = [];
  const store: Pick<Objects, 'read' | 'slots'> = {
    read: ({ org }) =>
      org === 'modest'
        ? Promise.resolve(stored(0, 10))
        : new Promise((resolve) => hanging.push(() => resolve(undefined))),
    slots: () => new Promise((resolve) => hanging.push(() => resolve([]))),
  };
  const objects = inTurns(store as Objects, turn);
  const at = (org: string): Address => ({ org, kind: 'Job', project: 'default', name: 'a' });
  const greedy = Array.from({ length: 2_000 }, (_, i) =>
    i % 2 ? objects.read(at('greedy')) : objects.slots('greedy', 'u'),
  );
  t.is(hanging.length, 4);
  t.is((await objects.read(at('modest')))?.uid, 'u-0');
  // Each that ends lets the next one begin, to the last.
  for (let end = hanging.shift(); end !== undefined; end = hanging.shift()) {
    end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.is((await Promise.all(greedy)).length, 2_000);
});

test('a single read that finds no place in time is refused, and takes none later', async (t) => {
  const turn = openReadTurns({ places: 2, shared: true, waitMs: 20 });
  let end = (): void => {};
  const first = turn('acme', () => new Promise<void>((resolve) => (end = resolve)));
  const error = await t.throwsAsync(turn('acme', () => Promise.resolve()));
  t.regex(error?.message ?? '', /too many reads wait/);
  end();
  await first;
  await t.notThrowsAsync(turn('acme', () => Promise.resolve()));
});
