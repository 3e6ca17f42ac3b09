/** The root of a place between two pieces of work: kept when nothing in it was touched, however deep, else made anew. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Scratch, type ScratchSlot } from '../../src/runner/work/scratch.js';

const SKELETON = {
  directories: ['/usr', '/svc/outputs', '/run/secrets', '/var'],
  links: [['/var/tmp', '../tmp']] as const,
};

async function agedPlace(t: { teardown(release: () => void): void }): Promise<{ slot: ScratchSlot; root: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-root-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const slot = new Scratch(dir, dir, undefined, 1).take();
  if (slot === undefined) throw new Error('no place');
  await slot.prepare([], SKELETON);
  while (!slot.aged) await new Promise((done) => setImmediate(done));
  await slot.prepare([], SKELETON);
  return { slot, root: slot.realPath('root') };
}

test('an untouched root is kept, with its skeleton', async (t) => {
  const { slot, root } = await agedPlace(t);
  const { ino } = lstatSync(root);
  await slot.clean();
  t.is(lstatSync(root).ino, ino);
  t.is(readlinkSync(join(root, 'var/tmp')), '../tmp');
  for (const path of ['usr', 'svc/outputs', 'run/secrets']) t.true(lstatSync(join(root, path)).isDirectory());
});

for (const [what, touch] of [
  ['a file at the top', (root: string) => writeFileSync(join(root, 'x'), '')],
  ['a directory deep in the skeleton', (root: string) => mkdirSync(join(root, 'svc/outputs/x'))],
  [
    'a link in the place of a mount point',
    (root: string) => {
      rmSync(join(root, 'run/secrets'), { recursive: true });
      symlinkSync('/etc', join(root, 'run/secrets'));
    },
  ],
  [
    'a link in the place of a directory on the way',
    (root: string) => {
      rmSync(join(root, 'svc'), { recursive: true });
      symlinkSync('/etc', join(root, 'svc'));
    },
  ],
] as const) {
  test(`a root with ${what} is made anew`, async (t) => {
    const { slot, root } = await agedPlace(t);
    touch(root);
    await slot.clean();
    t.false(existsSync(join(root, 'x')) || existsSync(join(root, 'svc/outputs/x')));
    for (const path of ['svc', 'svc/outputs', 'run/secrets']) t.true(lstatSync(join(root, path)).isDirectory(), path);
  });
}
