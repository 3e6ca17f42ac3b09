/** What keeps blobs alive is written with the objects that need them. */
import test from 'ava';
import pg from 'pg';
import { address, insert, openFixture, remove, update, versionOf, type Fixture } from './fixtures.js';

const digest = (name: string): string => `sha256:${name.repeat(64)}`;

async function open(
  t: Parameters<typeof openFixture>[0],
): Promise<{ f: Fixture; refs(): Promise<string[]>; db: pg.Client }> {
  const f = await openFixture(t);
  const db = new pg.Client(f.url);
  await db.connect();
  t.teardown(() => db.end());
  for (const [org, name] of [
    ['o-1', 'a'],
    ['o-1', 'b'],
    ['o-2', 'c'],
  ] as const) {
    await db.query(`INSERT INTO blobs (org, digest, size, last_used) VALUES ($1, $2, 1, now() - interval '2 days')`, [
      org,
      digest(name),
    ]);
  }
  return {
    f,
    db,
    async refs() {
      const { rows } = await db.query<{ uid: string; digest: string }>(
        'SELECT uid, digest FROM blob_refs ORDER BY 1, 2',
      );
      return rows.map((row) => `${row.uid} ${row.digest.slice(7, 8)}`);
    },
  };
}

const used = async (db: pg.Client): Promise<string> => {
  const { rows } = await db.query<{ digest: string }>(
    `SELECT digest FROM blobs WHERE last_used > now() - interval '1 hour' ORDER BY 1`,
  );
  return rows.map((row) => row.digest.slice(7, 8)).join('');
};

test('an object keeps its blobs from the commit that made it until one that says otherwise, and then for the usual time', async (t) => {
  const { f, refs, db } = await open(t);
  const made = insert('x', { blobs: [digest('a'), digest('b'), digest('a')] });
  const version = versionOf(await f.committer.commit(made, undefined));
  t.deepEqual(await refs(), ['uid-x a', 'uid-x b']);
  const next = update('x', version);
  const second = versionOf(await f.committer.commit(next, made.write.body));
  t.deepEqual(await refs(), ['uid-x a', 'uid-x b']);
  t.is(await used(db), '');
  const third = versionOf(await f.committer.commit(update('x', second, { blobs: [digest('b')] }), next.write.body));
  t.deepEqual(await refs(), ['uid-x b']);
  t.is(await used(db), 'a');
  await f.committer.commit(update('x', third, { blobs: [] }), next.write.body);
  t.deepEqual(await refs(), []);
  t.is(await used(db), 'ab');
});

test('its deletion lets its blobs go, without waiting for an upload of the same content', async (t) => {
  const { f, refs, db } = await open(t);
  const made = insert('x', { blobs: [digest('a')] });
  const version = versionOf(await f.committer.commit(made, undefined));
  await f.committer.commit(insert('y', { blobs: [digest('a')] }), undefined);
  await db.query('BEGIN');
  await db.query(`UPDATE blobs SET last_used = now() WHERE digest = $1`, [digest('a')]);
  versionOf(await f.committer.commit(remove('x', version), made.write.body));
  await db.query('COMMIT');
  t.deepEqual(await refs(), ['uid-y a']);
});

test('a blob of another org, or of none, is kept by nothing, and the object is made all the same', async (t) => {
  const { f, refs } = await open(t);
  versionOf(await f.committer.commit(insert('x', { blobs: [digest('c'), digest('d'), digest('b')] }), undefined));
  t.deepEqual(await refs(), ['uid-x b']);
  const refused = await f.committer.commit(insert('x', { uid: 'uid-other', blobs: [digest('a')] }), undefined);
  t.is(refused.outcome, 'AlreadyExists');
  t.deepEqual(await refs(), ['uid-x b']);
  t.truthy(await f.store.objects.read(address('x')));
});
