/** Lists and pages: true at the version that they name, however much is written beside them. */
import test from 'ava';
import fc from 'fast-check';
import { readVersion } from '../../src/api/encode.js';
import type { Committer } from '../../storage/commit/request.js';
import { FORMATS } from '../../storage/formats.js';
import { openObjects } from '../../storage/objects.js';
import type { Postgres } from '../../storage/postgres.js';
import type { Objects, Place, StoredObject } from '../../storage/store.js';
import { address, bodyOf, insert, requestOf, openFixture, remove, update, versionOf } from './fixtures.js';
import { tries } from '../support/extent.js';

type Step = { readonly project: string; readonly name: string; readonly act: 'put' | 'delete' };

const step: fc.Arbitrary<Step> = fc.record({
  project: fc.constantFrom('a', 'b', 'b-c'),
  name: fc.constantFrom('x', 'x-y', 'x.y', 'xy', 'z'),
  act: fc.constantFrom('put', 'put', 'delete'),
});

interface State {
  readonly uid: string;
  readonly body: Buffer;
  readonly version: number;
}
type Model = ReadonlyMap<string, State>;

/** Carries the steps out; the state of the org after each version that they made. */
async function play(committer: Committer, org: string, steps: readonly Step[]): Promise<Map<number, Model>> {
  const states = new Map<number, Model>();
  let now = new Map<string, State>();
  let serial = 0;
  for (const { project, name, act } of steps) {
    const key = `${project}/${name}`;
    const of = address(name, { org, project });
    const old = now.get(key);
    if (act === 'delete' && old === undefined) continue;
    serial += 1;
    const uid = old?.uid ?? `${org}-${serial}`;
    const body = bodyOf(of, uid, `${serial}`);
    const write =
      old === undefined
        ? ({ op: 'insert', body } as const)
        : ({ op: act === 'delete' ? 'delete' : 'update', body, expected: old.version } as const);
    const version = versionOf(await committer.commit(requestOf(of, uid, write), old?.body));
    now = new Map(now);
    if (act === 'delete') now.delete(key);
    else now.set(key, { uid, body, version });
    states.set(version, now);
  }
  return states;
}

/** All pages at a version, each of at most `limit`, as a list reads them: keys, what is still there, what has changed. */
async function pages(objects: Objects, org: string, version: number, limit: number, project?: string) {
  const all: { key: string; state: State }[] = [];
  for (let after: Place | undefined; ;) {
    const page = await objects.keysAt({ org, kind: 'Job', project, after, limit }, version);
    if (page.outcome === 'Expired') throw new Error('expired');
    const same = await objects.readMany(org, 'Job', page.keys);
    const older = await objects.statesAt(org, 'Job', page.keys, version);
    if (older.outcome === 'Expired') throw new Error('expired');
    for (const { project: of, name, version: v, bytes } of page.keys) {
      const is = (found: StoredObject): boolean => found.address.project === of && found.address.name === name;
      const found = [...same, ...older.objects].filter(is);
      if (found[0]?.version !== v || found[0].body.length !== bytes)
        throw new Error(`${of}/${name}: ${found.length} states`);
      all.push({ key: `${of}/${name}`, state: { uid: found[0].uid, body: found[0].body, version: v } });
    }
    if (page.reached === undefined) return all;
    after = page.reached;
  }
}

/** Order of (project, name), which is not the order of the joined key. */
function ordered(model: Model, project?: string): { key: string; state: State }[] {
  const parts = (key: string): [string, string] => {
    const slash = key.indexOf('/');
    return [key.slice(0, slash), key.slice(slash + 1)];
  };
  return [...model]
    .map(([key, state]) => ({ key, state }))
    .filter(({ key }) => project === undefined || parts(key)[0] === project)
    .toSorted((a, b) => {
      const [pa, na] = parts(a.key);
      const [pb, nb] = parts(b.key);
      return pa < pb ? -1 : pa > pb ? 1 : na < nb ? -1 : na > nb ? 1 : 0;
    });
}

test('every page at an older version is what the model had then, while others write', async (t) => {
  const f = await openFixture(t);
  let run = 0;
  const stop = new AbortController();
  const noise = (async () => {
    for (let i = 0; !stop.signal.aborted; i++)
      await f.committer.commit(insert(`n-${i}`, { address: address(`n-${i}`, { org: 'noise' }) }), undefined);
  })();
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        async (steps, limit) => {
          run += 1;
          const org = `run-${run}`;
          const half = Math.ceil(steps.length / 2);
          const states = await play(f.committer, org, steps.slice(0, half));
          const { store } = f;
          // Changes since then are gone through, or too many for that: both ways find the same.
          const ways = [
            store.objects,
            openObjects(store.postgres, FORMATS, 0),
            openObjects(store.postgres, FORMATS, 3),
          ];
          const more = play(f.committer, `beside-${run}`, steps.slice(half));
          for (const [version, model] of states) {
            for (const objects of ways) {
              t.deepEqual(await pages(objects, org, version, limit), ordered(model));
              t.deepEqual(await pages(objects, org, version, limit, 'b'), ordered(model, 'b'));
            }
          }
          await more;
        },
      ),
      { numRuns: tries(15) },
    );
  } finally {
    stop.abort();
    await noise;
  }
});

test('the keys of a range are true at the version that comes with them, and an empty range has a version too', async (t) => {
  const f = await openFixture(t);
  t.deepEqual(await f.store.objects.keys({ org: 'o-1', kind: 'Job', limit: 9 }), {
    ...{ version: 0, count: 0 },
    ...{ keys: [], reached: undefined },
  });
  // A pair that is always written in one order: a reader that sees the second at n sees the first at n - 1.
  let first = versionOf(await f.committer.commit(insert('first'), undefined));
  let second = versionOf(await f.committer.commit(insert('second'), undefined));
  const stop = new AbortController();
  const writer = (async () => {
    while (!stop.signal.aborted) {
      first = versionOf(await f.committer.commit(update('first', first), Buffer.alloc(0)));
      second = versionOf(await f.committer.commit(update('second', second), Buffer.alloc(0)));
    }
  })();
  for (let i = 0; i < 200; i++) {
    const { version, keys } = await f.store.objects.keys({ org: 'o-1', kind: 'Job', limit: 9 });
    t.deepEqual(
      keys.map(({ name }) => name),
      ['first', 'second'],
    );
    t.is(Math.max(...keys.map((key) => key.version)), version);
    t.is(Math.min(...keys.map((key) => key.version)), version - 1);
  }
  stop.abort();
  await writer;
});

test('many objects are read in the order asked, without the missing ones, and never from another org', async (t) => {
  const f = await openFixture(t);
  await Promise.all(['a', 'b', 'c'].map((name) => f.committer.commit(insert(name, {}, name), undefined)));
  await f.committer.commit(insert('d', { address: address('d', { org: 'o-2' }) }), undefined);
  const range = { org: 'o-1', kind: 'Job', limit: 9 };
  const { keys, count } = await f.store.objects.keys(range);
  t.is(count, 3);
  const [a, b, c] = keys;
  if (a === undefined || b === undefined || c === undefined) throw new Error('three keys');
  const found = await f.store.objects.readMany('o-1', 'Job', [c, { ...a, name: 'd' }, { ...b, version: 1_000 }, a]);
  t.deepEqual(
    found.map(({ address: { name } }) => name),
    ['c', 'a'],
  );
  for (const { body, version } of found) t.is(readVersion(body), version);
  t.is(found[1]?.body.length, a.bytes);
  t.is(await f.store.objects.read(address('d')), undefined);
  const names = async (more: object) =>
    (await f.store.objects.keys({ ...range, ...more })).keys.map(({ name }) => name);
  t.deepEqual(await names({ after: a }), ['b', 'c']);
  t.deepEqual(await names({ project: 'default', limit: 1 }), ['a']);
  t.deepEqual(await names({ name: 'c' }), ['c']);
  t.deepEqual((await f.store.objects.keys({ ...range, limit: 2 })).reached, b);
  await f.committer.commit(remove('b', b.version), undefined);
  t.is((await f.store.objects.keys(range)).count, 2);
});

/** Rows that the scans of a plan read, with those that they threw away. */
function rowsRead(plan: Plan): number {
  const loops = plan['Actual Loops'];
  const own = plan['Node Type'].includes('Index')
    ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * loops
    : 0;
  return (plan.Plans ?? []).reduce((sum, below) => sum + rowsRead(below), own);
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

test('a page reads a bounded number of rows: at its first and last place, in a collection of any size, after any number of changes', async (t) => {
  const f = await openFixture(t);
  const { postgres } = f.store;
  const body = bodyOf(address('any'), 'u').toString();
  const LIMIT = 50;
  let asked: { name: string; text: string; values: readonly unknown[] } | undefined;
  const recorded: Postgres = {
    ...postgres,
    readRows(statement, values = []) {
      asked = { ...statement, values };
      return postgres.readRows(statement, values);
    },
  };
  const objects = openObjects(recorded);
  const client = await postgres.pool.connect();
  t.teardown(() => client.release(true));

  async function read(run: () => Promise<unknown>): Promise<{ rows: number; blocks: number }> {
    await run();
    const text = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${asked?.text}`;
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(text, [...(asked?.values ?? [])]);
    const plan = rows[0]?.['QUERY PLAN'][0]?.Plan ?? raise();
    // Entries of an index that are passed over count in neither plan; the blocks that hold them do.
    return { rows: rowsRead(plan), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] };
  }

  const place = (i: number): Place => ({ project: 'default', name: `n${String(i).padStart(6, '0')}` });
  let version = 0;
  for (const [kind, count] of [
    ['Small', 500],
    ['Large', 10_000],
  ] as const) {
    const rows = `$1::bigint + i, 'o-1', '${kind}', 'default', 'n' || lpad(i::text, 6, '0'), 'u' || i`;
    const from = `generate_series(1, ${count}) i`;
    await postgres.pool.query(
      `INSERT INTO objects (version, org, kind, project, name, uid, active, private_format, body) SELECT ${rows}, false, 1, $2 FROM ${from}`,
      [version, body],
    );
    await postgres.pool.query(
      `INSERT INTO changes (version, org, kind, project, name, uid, type, after) SELECT ${rows}, 'A', $2 FROM ${from}`,
      [version, body],
    );
    version += count;
  }
  await postgres.pool.query('UPDATE clock SET version = $1', [version]);

  async function bounded(label: string, most: number, mostBlocks: number): Promise<void> {
    for (const [kind, count] of [
      ['Small', 500],
      ['Large', 10_000],
    ] as const) {
      for (const project of ['default', undefined]) {
        const range = { org: 'o-1', kind, project, limit: LIMIT };
        const first = await read(() => objects.keys(range));
        t.true(first.rows <= LIMIT + 5, `${label}, ${kind}, ${project}: keys read ${first.rows} rows`);
        for (const begin of [0, count / 2, count - LIMIT - 1]) {
          const page = await read(() => objects.keysAt({ ...range, after: place(begin) }, version));
          const where = `${label}, ${kind}, ${project}, after ${begin}: ${page.rows} rows, ${page.blocks} blocks`;
          t.true(page.rows <= most && page.blocks <= mostBlocks, where);
        }
      }
    }
  }
  await bounded('quiet', LIMIT + 10, 30);

  // One object of the middle is changed again and again, after the version that is read.
  await postgres.pool.query(
    `INSERT INTO changes (version, org, kind, project, name, uid, type, replaced, before, after)
     SELECT $1::bigint + i, 'o-1', 'Large', 'default', $2, 'u', 'M', CASE WHEN i = 1 THEN 5500 ELSE $1::bigint + i - 1 END, $3, $3
     FROM generate_series(1, 20000) i`,
    [version, place(5_000).name, body],
  );
  await postgres.pool.query('UPDATE clock SET version = version + 20000');
  await postgres.pool.query(`UPDATE objects SET version = $1 WHERE kind = 'Large' AND name = $2`, [
    version + 20_000,
    place(5_000).name,
  ]);
  await bounded('after many changes', 1_001 + 6 * LIMIT, 700);
  const busy = await objects.keysAt({ org: 'o-1', kind: 'Large', limit: LIMIT, after: place(4_999) }, version);
  t.is(busy.outcome === 'Keys' ? busy.keys[0]?.version : undefined, 5_500, 'as it was');
});

function raise(): never {
  throw new Error('no plan');
}

test('the log is read no further than its bytes allow, and always a change', async (t) => {
  const f = await openFixture(t);
  for (let i = 0; i < 6; i++) await f.committer.commit(insert(`n-${i}`, {}, 'x'.repeat(100_000)), undefined);
  const versions = async (from: number, bytes: number) => {
    const read = await f.store.changes.after('o-1', 'Job', from, { changes: 100, bytes });
    if (read.outcome === 'Expired') throw new Error('expired');
    return { versions: read.changes.map(({ version }) => version), through: read.through };
  };
  t.deepEqual(await versions(0, 1), { versions: [1], through: 1 });
  t.deepEqual(await versions(0, 150_000), { versions: [1, 2], through: 2 });
  t.deepEqual(await versions(2, 1_000_000), { versions: [3, 4, 5, 6], through: 6 });
  t.deepEqual(await versions(6, 1), { versions: [], through: 6 });
});
