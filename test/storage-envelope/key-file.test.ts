import test from 'ava';
import { chmod, chown, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterKeys, MasterKeyError } from '../../storage/envelope/key-file.js';

async function directory(t: import('ava').ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-key-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

const text = (fill: number): string => Buffer.alloc(32, fill).toString('base64');

test('the first start makes a key file of mode 0600, and later starts read the same key', async (t) => {
  const dir = join(await directory(t), 'data');
  const first = await loadMasterKeys({ dir });
  t.is((await stat(join(dir, 'master.key'))).mode & 0o777, 0o600);
  t.is((await loadMasterKeys({ dir })).current.id, first.current.id);
  t.deepEqual(await readdir(dir), ['master.key']);
});

test('starts at the same moment agree on one key', async (t) => {
  const dir = await directory(t);
  const all = await Promise.all(Array.from({ length: 8 }, () => loadMasterKeys({ dir })));
  t.is(new Set(all.map((keys) => keys.current.id)).size, 1);
  t.deepEqual(await readdir(dir), ['master.key']);
});

test('a setting is used instead of the file, and its further keys only open', async (t) => {
  const dir = await directory(t);
  const keys = await loadMasterKeys({ setting: `${text(1)},${text(2)}`, dir });
  const previous = await loadMasterKeys({ setting: text(2), dir });
  t.is(keys.readable.size, 2);
  t.true(keys.readable.has(previous.current.id));
  t.not(keys.current.id, previous.current.id);
  t.deepEqual(await readdir(dir), []);
});

test('a key file that others could read, or that is no key, stops the start with one line', async (t) => {
  const cases: readonly [string, (path: string, dir: string) => Promise<unknown>, RegExp][] = [
    ['group can read', async (path) => (await writeFile(path, text(1)), chmod(path, 0o640)), /mode 0640, must be 0600/],
    ['too long', (path) => writeFile(path, `${text(1)}\n`.repeat(20), { mode: 0o600 }), /has 900 bytes/],
    ['empty', (path) => writeFile(path, '', { mode: 0o600 }), /has 0 bytes/],
    ['not base64', (path) => writeFile(path, '!'.repeat(44), { mode: 0o600 }), /not 32 bytes in base64/],
    [
      'short key',
      (path) => writeFile(path, Buffer.alloc(16).toString('base64'), { mode: 0o600 }),
      /not 32 bytes in base64/,
    ],
    [
      'a link',
      async (path, dir) => (await writeFile(join(dir, 'x'), text(1)), symlink(join(dir, 'x'), path)),
      /symbolic link/,
    ],
  ];
  for (const [name, arrange, message] of cases) {
    const dir = await directory(t);
    const path = join(dir, 'master.key');
    await arrange(path, dir);
    const before = await readFile(path, 'utf8');
    const error = await t.throwsAsync(loadMasterKeys({ dir }), { instanceOf: MasterKeyError, message }, name);
    t.false(error.message.includes('\n'), name);
    t.is(await readFile(path, 'utf8'), before, `${name}: the file is left as it was`);
  }
  const error = await t.throwsAsync(loadMasterKeys({ setting: 'c2hvcnQ=', dir: '/' }), { instanceOf: MasterKeyError });
  t.false(error.message.includes('c2hvcnQ'), 'the text of a key is not shown');
});

(process.geteuid?.() === 0 ? test : test.skip)('a key file of another user is refused (needs root)', async (t) => {
  const dir = await directory(t);
  const path = join(dir, 'master.key');
  await writeFile(path, text(1), { mode: 0o600 });
  await chown(path, 12345, 12345);
  await t.throwsAsync(loadMasterKeys({ dir }), { instanceOf: MasterKeyError, message: /belongs to uid 12345/ });
});
