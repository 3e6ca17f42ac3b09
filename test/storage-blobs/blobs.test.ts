import test, { type ExecutionContext } from 'ava';
import { spawnSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Pool } from 'pg';
import type { ErrorCode } from '../../src/api/errors/codes.js';
import { RefusalError } from '../../src/api/refusal.js';
import { openBlobs } from '../../storage/blobs/blobs.js';
import { bytes, filesIn, never, openStore, sha256, textOf } from './store.js';

const put = {
  limit: 1 << 30,
  get signal() {
    return never();
  },
};
const hello = sha256(Buffer.from('hello'));

async function refusedWith(t: ExecutionContext, code: ErrorCode, work: Promise<unknown>): Promise<RefusalError> {
  const error = await t.throwsAsync(work, { instanceOf: RefusalError });
  t.is(error.refusal.code, code);
  return error;
}

test('what was put is read back, whole and in ranges, under its SHA-256', async (t) => {
  const { blobs, files } = await openStore(t);
  t.deepEqual(await blobs.put('a', bytes('hel', 'lo'), put), { outcome: 'Created', digest: hello, size: 5 });
  t.is(await textOf((await blobs.get('a', hello))?.stream), 'hello');
  t.is(await textOf((await blobs.get('a', hello.slice(7).toUpperCase(), { start: 1, end: 3 }))?.stream), 'ell');
  t.deepEqual(await blobs.head('a', hello), { digest: hello, size: 5 });
  t.deepEqual(await files(), [`sha256/${hello.slice(7, 9)}/${hello.slice(9)}`]);
  const empty = await blobs.put('a', bytes(), put);
  t.is(empty.digest, sha256(Buffer.alloc(0)));
  t.is(await textOf((await blobs.get('a', empty.digest))?.stream), '');
});

test('another org cannot read a blob by its digest, and gets one of its own by putting it', async (t) => {
  const { blobs, files } = await openStore(t);
  await blobs.put('a', bytes('hello'), put);
  t.is(await blobs.get('b', hello), undefined);
  t.is(await blobs.head('b', hello), undefined);
  await refusedWith(t, 'NotFound', blobs.addRef('b', hello, 'uid'));
  await refusedWith(t, 'NotFound', blobs.linkTo('b', hello, '/tmp/never'));
  t.is((await blobs.put('b', bytes('hello'), put)).outcome, 'Created');
  t.is((await blobs.put('b', bytes('hello'), put)).outcome, 'Exists');
  t.is(await textOf((await blobs.get('b', hello))?.stream), 'hello');
  t.is((await files()).length, 1, 'one file serves both');
});

test('another project of the org cannot read a blob by its digest, nor learn that it is there', async (t) => {
  const { blobs, pool } = await openStore(t);
  const inA = { ...put, project: 'a' };
  t.is((await blobs.put('org', bytes('hello'), inA)).outcome, 'Created');
  t.is((await blobs.put('org', bytes('hello'), inA)).outcome, 'Exists');
  t.is(await textOf((await blobs.get('org', hello, undefined, 'a'))?.stream), 'hello');
  t.is(await blobs.head('org', hello, 'b'), undefined);
  t.is(await blobs.get('org', hello, undefined, 'b'), undefined);
  await refusedWith(t, 'NotFound', blobs.linkTo('org', hello, '/tmp/never', 'b'));
  t.is((await blobs.head('org', hello))?.size, 5, 'the service itself reads it');
  t.is((await blobs.put('org', bytes('hello'), { ...put, project: 'b' })).outcome, 'Created');
  t.is((await blobs.head('org', hello, 'b'))?.size, 5);
  t.is(await blobs.used('org'), 5, 'and it counts once');
  await pool.query("UPDATE blob_projects SET project = '' WHERE project = 'a'");
  t.is((await blobs.head('org', hello, 'c'))?.size, 5, 'what was stored before projects were kept apart is for all');
});

test('a project that is forgotten can name none of its blobs any more, and the others can', async (t) => {
  const { blobs } = await openStore(t);
  const texts = ['one', 'two', 'three'];
  const digests = texts.map((text) => sha256(Buffer.from(text)));
  for (const text of texts) await blobs.put('org', bytes(text), { ...put, project: 'a' });
  await blobs.put('org', bytes('one'), { ...put, project: 'b' });
  await blobs.put('other', bytes('one'), { ...put, project: 'a' });
  await blobs.forgetProject('org', 'a');
  for (const digest of digests) t.is(await blobs.head('org', digest, 'a'), undefined);
  const [one = ''] = digests;
  t.is((await blobs.head('org', one, 'b'))?.size, 3);
  t.is((await blobs.head('other', one, 'a'))?.size, 3);
  t.is(
    (await blobs.put('org', bytes('one'), { ...put, project: 'a' })).outcome,
    'Created',
    'it puts the content itself',
  );
});

test('digests that are none open nothing', async (t) => {
  const { blobs, dir } = await openStore(t);
  await writeFile(join(dir, 'secret'), 'x');
  for (const name of ['../../secret', 'sha256:../../secret', '', 'sha256:', 'md5:aa', `${hello}/..`, `${hello}\0`]) {
    t.is(await blobs.get('a', name), undefined, name);
  }
});

test('wrong content, too much of it, or too much in all is refused and leaves no file', async (t) => {
  const { blobs, files } = await openStore(t, { quotaBytes: 10 });
  await refusedWith(t, 'SHA256Mismatch', blobs.put('a', bytes('hullo'), { ...put, sha256: hello }));
  await refusedWith(t, 'BadRequest', blobs.put('a', bytes('hello'), { ...put, sha256: 'nonsense' }));
  await refusedWith(t, 'FileTooLarge', blobs.put('a', bytes('hello', '!'), { ...put, limit: 5 }));
  t.deepEqual(await files(), []);
  t.is((await blobs.put('a', bytes('hello'), { ...put, sha256: hello.slice(7) })).outcome, 'Created');
  await refusedWith(t, 'QuotaExceeded', blobs.put('a', bytes('hello2'), put));
  t.is(await blobs.used('a'), 5);
  t.is((await blobs.put('a', bytes('world'), put)).outcome, 'Created');
  t.is((await blobs.put('b', bytes('hello2'), put)).outcome, 'Created', 'each org has its own quota');
  t.is(await blobs.used('a'), 10);
  t.is((await files()).length, 3);
});

test('of uploads at the same moment no more are taken than the quota has room for', async (t) => {
  const { blobs, files } = await openStore(t, { quotaBytes: 50 });
  const results = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) => blobs.put('a', bytes(String(n).padStart(10, '.')), put)),
  );
  t.is(results.filter((result) => result.status === 'fulfilled').length, 5);
  t.is(await blobs.used('a'), 50);
  t.is((await files()).length, 5);
});

test('an upload of the same content from many at once is one file', async (t) => {
  const { blobs, files } = await openStore(t);
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, (_, n) => blobs.put(n % 2 === 0 ? 'a' : 'b', bytes('hello'), put)),
  );
  t.is(outcomes.filter((result) => result.outcome === 'Created').length, 2);
  t.is((await files()).length, 1);
});

test('a refused upload leaves the rest of the stream to the handler that answers its sender', async (t) => {
  const { blobs } = await openStore(t);
  const stream = bytes('hello', 'and', 'much', 'more');
  await refusedWith(t, 'FileTooLarge', blobs.put('a', stream, { ...put, limit: 6 }));
  t.false(stream.destroyed);
});

test('an upload that ends early, by its sender or by the caller, leaves nothing', async (t) => {
  const { blobs, files } = await openStore(t);
  const broken = new Readable({ read() {} });
  broken.push('half');
  const first = t.throwsAsync(blobs.put('a', broken, put), { message: /gone/ });
  broken.destroy(new Error('gone'));
  await first;
  const ending = new AbortController();
  const stalled = new Readable({ read() {} });
  stalled.push('half');
  const second = t.throwsAsync(blobs.put('a', stalled, { ...put, signal: ending.signal }), { any: true });
  ending.abort();
  await second;
  t.deepEqual(await files(), []);
});

test('what a crashed upload left is removed at the next start, and one under way is not', async (t) => {
  const { dir, blobs, reopen, files } = await openStore(t);
  const running = new Readable({ read() {} });
  const done = blobs.put('a', running, put);
  running.push('hel');
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const mine = await untilFile(() => files());
  await writeFile(join(dir, 'partial', mine.slice('partial/'.length).replace(`-${process.pid}-`, `-${dead}-`)), 'x');
  await writeFile(join(dir, 'partial', 'ffffffff-1-elsewhere'), 'x');
  await utimes(join(dir, 'partial', 'ffffffff-1-elsewhere'), 0, 0);
  await writeFile(join(dir, 'partial', 'ffffffff-2-elsewhere'), 'x');
  await reopen();
  t.deepEqual(await files(), [mine, 'partial/ffffffff-2-elsewhere'].toSorted());
  running.push('lo');
  running.push(null);
  t.is((await done).digest, hello);
});

async function untilFile(files: () => Promise<string[]>): Promise<string> {
  for (;;) {
    const [first] = await files();
    if (first !== undefined) return first;
  }
}

test('a file of ours is taken in by its content, and a link or a directory is not', async (t) => {
  const { blobs, dir } = await openStore(t);
  const outside = await mkdtemp(join(tmpdir(), 'troupe-outputs-'));
  t.teardown(() => rm(outside, { recursive: true }));
  const path = join(outside, 'out');
  await writeFile(path, 'hello');
  t.is((await blobs.addFile('a', path, put)).digest, hello);
  t.is((await blobs.addFile('a', path, put)).outcome, 'Exists');
  t.is((await blobs.addFile('b', path, put)).outcome, 'Created', 'what another org has is not yet this one');
  await rm(join(dir, 'sha256', hello.slice(7, 9), hello.slice(9)));
  t.is((await blobs.addFile('a', path, put)).outcome, 'Exists', 'a file that was lost is put back');
  await writeFile(path, 'changed afterwards');
  t.is(await textOf((await blobs.get('a', hello))?.stream), 'hello');
  await symlink('/etc/passwd', join(outside, 'link'));
  await t.throwsAsync(blobs.addFile('a', join(outside, 'link'), put), { code: 'ELOOP' });
  await refusedWith(t, 'Invalid', blobs.addFile('a', dir, put));
  await blobs.linkTo('a', hello, join(outside, 'linked'));
  t.is(await readFile(join(outside, 'linked'), 'utf8'), 'hello');
  t.is((await stat(join(outside, 'linked'))).mode & 0o777, 0o444);
});

test('a file of holes takes no more of the disk as a blob, and has the same bytes', async (t) => {
  const { blobs, dir } = await openStore(t);
  const outside = await mkdtemp(join(tmpdir(), 'troupe-outputs-'));
  t.teardown(() => rm(outside, { recursive: true }));
  const path = join(outside, 'sparse');
  await writeFile(path, '');
  await truncate(path, 20_000_000);
  const file = await open(path, 'r+');
  await file.write('middle', 9_999_999);
  await file.close();
  const { digest, size } = await blobs.addFile('a', path, put);
  t.is(size, 20_000_000);
  const blob = join(dir, 'sha256', digest.slice(7, 9), digest.slice(9));
  t.true((await stat(blob)).blocks * 512 < 500_000);
  t.true((await readFile(blob)).equals(await readFile(path)));
});

test('the sweep removes what nothing refers to and nothing has used for a day, and nothing else', async (t) => {
  const { blobs, pool, files } = await openStore(t);
  const names = ['old', 'kept', 'used', 'young', 'shared'];
  for (const name of names) await blobs.put('a', bytes(name), put);
  await blobs.put('b', bytes('shared'), put);
  await blobs.addRef('a', sha256(Buffer.from('kept')), 'uid-1');
  await blobs.addRef('a', sha256(Buffer.from('kept')), 'uid-1');
  await pool.query(`UPDATE blobs SET last_used = now() - interval '25 hours' WHERE org = 'a' AND digest <> $1`, [
    sha256(Buffer.from('young')),
  ]);
  await textOf((await blobs.get('a', sha256(Buffer.from('used'))))?.stream);
  t.like(await blobs.sweep(never()), { blobs: 1 });
  const left = await Promise.all(names.map((name) => blobs.head('a', sha256(Buffer.from(name)))));
  t.deepEqual(
    left.map((found) => found !== undefined),
    [false, true, true, true, false],
  );
  t.is(await textOf((await blobs.get('b', sha256(Buffer.from('shared'))))?.stream), 'shared');
  t.is((await files()).length, 4);
  t.is(await blobs.used('a'), 'keptusedyoung'.length);
  await blobs.dropRefs('a', 'uid-1');
  await blobs.sweep(never());
  t.truthy(await blobs.head('a', sha256(Buffer.from('kept'))), 'its day begins when the last reference goes');
  await pool.query(`UPDATE blobs SET last_used = now() - interval '25 hours'`);
  await blobs.sweep(never());
  t.deepEqual(await files(), []);
  t.is(await blobs.used('a'), 0);
});

test('a sweep goes on until nothing is left that should be gone, however much that is', async (t) => {
  const { blobs, pool, dir, reopen } = await openStore(t);
  await pool.query(`
    INSERT INTO blobs (org, digest, size, last_used)
    SELECT CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, 'sha256:' || lpad(to_hex(n), 64, '0'), 1, now() - interval '2 days'
    FROM generate_series(1, 1100) n`);
  await pool.query(`INSERT INTO blob_usage (org, bytes) VALUES ('a', 550), ('b', 550)`);
  t.true((await blobs.overdueMs()) > 86_000_000);
  t.like(await blobs.sweep(never()), { blobs: 1_100 });
  t.deepEqual([await blobs.used('a'), await blobs.used('b'), await blobs.overdueMs()], [0, 0, 0]);
  await mkdir(join(dir, 'sha256', 'cd'), { recursive: true });
  for (let n = 0; n < 1_100; n += 1) await writeFile(join(dir, 'sha256', 'cd', n.toString(16).padStart(62, '0')), 'x');
  const later = await reopen({ now: () => Date.now() + 2 * 86_400_000 });
  t.like(await later.sweep(never()), { orphans: 1_100 });
});

test('files that a crash left without a row go, and ones taken away too early come back', async (t) => {
  const { blobs, dir, files, reopen } = await openStore(t, { unusedSeconds: 3_600 });
  await blobs.put('a', bytes('hello'), put);
  const file = join(dir, 'sha256', hello.slice(7, 9), hello.slice(9));
  // A crash after the file was moved away and before the commit.
  await rename(file, join(dir, 'trash', hello.slice(7)));
  await mkdir(join(dir, 'sha256', 'ab'), { recursive: true });
  await writeFile(join(dir, 'sha256', 'ab', 'c'.repeat(62)), 'x');
  await writeFile(join(dir, 'trash', 'd'.repeat(64)), 'x');
  t.like(await blobs.sweep(never()), { blobs: 0, orphans: 0 });
  t.is(await textOf((await blobs.get('a', hello))?.stream), 'hello');
  const later = await reopen({ now: () => Date.now() + 2 * 3_600_000 });
  t.like(await later.sweep(never()), { orphans: 1 });
  t.deepEqual(await files(), [`sha256/${hello.slice(7, 9)}/${hello.slice(9)}`]);
});

test('sweeps and puts of the same content at once never leave a row without its file', async (t) => {
  const { blobs, pool, reopen } = await openStore(t);
  const eager = await reopen({ unusedSeconds: 0 });
  for (let round = 0; round < 20; round += 1) {
    await Promise.all([
      blobs.put('a', bytes('hello'), put),
      eager.sweep(never()),
      blobs.put('b', bytes('hello'), put),
      eager.sweep(never()),
    ]);
    const { rows } = await pool.query<{ org: string; digest: string }>('SELECT org, digest FROM blobs');
    for (const row of rows) t.is(await textOf((await blobs.get(row.org, row.digest))?.stream), 'hello');
  }
  t.pass();
});

test('while Postgres is away everything is refused with Unavailable and a time to come again, and no file is left', async (t) => {
  const { dir, files, pool, blobs } = await openStore(t);
  const path = join(dir, 'link');
  for (const away of [
    { host: '127.0.0.1', port: 1 },
    // The socket of a server that has ended, on the disk that it may have ended for.
    { host: join(dir, 'nowhere') },
  ]) {
    const none = new Pool({ ...away, user: 'x', database: 'x' });
    t.teardown(() => none.end());
    const lost = await openBlobs({ dir, pool: none, now: Date.now, reserveBytes: 0 });
    for (const work of [
      () => lost.put('a', bytes('hello'), put),
      () => lost.head('a', hello),
      () => lost.get('a', hello),
      () => lost.linkTo('a', hello, path),
      () => lost.addRef('a', hello, 'u'),
      () => lost.forgetProject('a', 'p'),
    ]) {
      const error = await refusedWith(t, 'Unavailable', work());
      t.truthy(error.refusal.retryAfterSeconds);
    }
  }
  // It goes away after the bytes have come.
  const away = Object.assign(Object.create(pool) as Pool, {
    query: pool.query.bind(pool),
    connect: async () => Promise.reject(new Error('Connection terminated unexpectedly')),
  });
  const late = await openBlobs({ dir, pool: away, now: Date.now, reserveBytes: 0 });
  await refusedWith(t, 'Unavailable', late.put('a', bytes('hello'), put));
  t.deepEqual(await files(), []);
  t.is((await blobs.put('a', bytes('hello'), put)).outcome, 'Created');
});

test('when the disk has no more than the reserve, uploads are refused before they fill it', async (t) => {
  const { reopen, files } = await openStore(t);
  const full = await reopen({ reserveBytes: 2 ** 62 });
  const error = await refusedWith(t, 'Unavailable', full.put('a', bytes('hello'), put));
  t.truthy(error.refusal.retryAfterSeconds);
  t.deepEqual(await files(), []);
});

const canMount = process.geteuid?.() === 0 && spawnSync('mount', ['--version']).status === 0;

(canMount ? test : test.skip)(
  'a disk that is full in the middle of an upload is a refusal and no half file (needs root)',
  async (t) => {
    const { pool } = await openStore(t);
    const dir = await mkdtemp(join(tmpdir(), 'troupe-full-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir]);
    if (mounted.status !== 0) {
      t.pass(`this machine mounts no tmpfs: ${String(mounted.stderr)}`);
      return;
    }
    t.teardown(async () => {
      spawnSync('umount', [dir]);
      await rm(dir, { recursive: true });
    });
    const blobs = await openBlobs({ dir, pool, now: Date.now, reserveBytes: 0 });
    const chunk = Buffer.alloc(64 * 1024, 1);
    await refusedWith(t, 'Unavailable', blobs.put('a', Readable.from(Array.from({ length: 64 }, () => chunk)), put));
    t.deepEqual(await filesIn(dir), []);
    t.is((await blobs.put('a', bytes('hello'), put)).outcome, 'Created');
  },
);

test('256 MiB pass through without being held in memory', async (t) => {
  const { blobs } = await openStore(t);
  const chunk = Buffer.alloc(1 << 20, 7);
  let most = 0;
  const before = process.memoryUsage.rss();
  async function* source(): AsyncGenerator<Buffer> {
    for (let n = 0; n < 256; n += 1) {
      most = Math.max(most, process.memoryUsage.rss() - before);
      yield chunk;
    }
  }
  const { size } = await blobs.put('a', Readable.from(source(), { objectMode: true, highWaterMark: 1 }), put);
  t.is(size, 256 << 20);
  t.true(most < 128 << 20, `${most >> 20} MiB more`);
});
