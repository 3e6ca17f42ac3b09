/** Files that are written piece by piece keep their holes. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { SparseWriter } from '../../src/sparse-writer.js';

const dir = mkdtempSync(join(tmpdir(), 'sparse-'));
test.after.always(() => rmSync(dir, { recursive: true, force: true }));

async function write(name: string, pieces: Iterable<Uint8Array>): Promise<string> {
  const path = join(dir, name);
  const file = await open(path, 'w');
  const sparse = new SparseWriter(file);
  for (const piece of pieces) await sparse.write(piece);
  await sparse.end();
  await file.close();
  return path;
}

test('zeros take nothing of the disk, however small the pieces are in which they come', async (t) => {
  const path = await write('holes', Array<Uint8Array>(10_000).fill(Buffer.alloc(1_000)));
  t.is(statSync(path).size, 10_000_000);
  t.true(statSync(path).blocks < 100);
});

test('what stands between zeros is where it was', async (t) => {
  const pieces = ['a', '\0\0', 'b\0c', '\0', '', 'd', '\0\0\0'].map((text) => Buffer.from(text));
  t.deepEqual(readFileSync(await write('mixed', pieces)), Buffer.concat(pieces));
});
