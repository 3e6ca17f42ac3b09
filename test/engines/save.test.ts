/** Saving what work leaves: what the machine cannot take now is tried again, and a vital output until nobody wants it any more. */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import test from 'ava';
import type { OutputFile, WorkState } from '../../src/engines/compute/contract/engine.js';
import { takeOutputs } from '../../src/engines/compute/docker/outputs.js';
import { logicalSize } from '../../src/runner/work/logical-size.js';
import { pack } from '../../src/runner/work/pack.js';
import { saveOutputs, uncollected, type Saving } from '../../src/engines/compute/shared/save-outputs.js';

const HOME = [{ name: 'home', path: '/home', vital: true }];
const MODEL = [{ name: 'model' }, { name: 'notes' }];

const good: OutputFile = { name: 'home', file: '/x', size: 1, directory: true };
const bad: OutputFile = { name: 'home', file: '', size: 0, directory: false, error: 'it does not exist' };

const full = Object.assign(new Error('ENOSPC: no space left on device, mkdir /data/x'), { code: 'ENOSPC' });
const taken = (name: string): OutputFile => ({ name, file: `/${name}`, size: 1, directory: false });

function saving(more: Pick<Saving, 'outputs' | 'collect'> & { readonly lasts?: () => boolean }): {
  readonly outputs: () => Promise<readonly OutputFile[]>;
  readonly said: (WorkState['saving'] | undefined)[];
  readonly abandoned: AbortController;
} {
  const abandoned = new AbortController();
  const said: (WorkState['saving'] | undefined)[] = [];
  const outputs = (): Promise<readonly OutputFile[]> =>
    saveOutputs({
      ...more,
      report: (how) => said.push(how),
      patience: { abandoned: abandoned.signal, lasts: more.lasts ?? (() => true) },
    });
  return { outputs, said, abandoned };
}

test('a vital output that fails is tried again, and each new reason is told once', async (t) => {
  const tries = [bad, good];
  const run = saving({ outputs: HOME, collect: async () => [tries.shift() ?? good] });
  t.deepEqual(await run.outputs(), [{ ...good, vital: true }]);
  t.deepEqual(run.said, [{ error: 'it does not exist' }]);
});

test('a collection that breaks altogether is one that failed, and ends when it is abandoned', async (t) => {
  const run = saving({
    outputs: HOME,
    collect: async () => {
      setImmediate(() => run.abandoned.abort());
      throw new Error('the disk is gone');
    },
  });
  t.deepEqual(
    (await run.outputs()).map(({ error }) => error),
    ['the disk is gone'],
  );
});

test('an output that is the fault of the work is tried once', async (t) => {
  const run = saving({ outputs: [{ name: 'home' }], collect: async () => [bad] });
  t.deepEqual(await run.outputs(), [bad]);
  t.deepEqual(run.said, []);
});

test('what a full disk does not take is taken when there is room, and what was taken before is left alone', async (t) => {
  const asked: (readonly string[])[] = [];
  const run = saving({
    outputs: MODEL,
    collect: async (settled) => {
      asked.push(settled.map(({ name }) => name));
      return [taken('model'), asked.length < 2 ? uncollected('notes', full) : taken('notes')];
    },
  });
  t.deepEqual(await run.outputs(), [taken('model'), taken('notes')]);
  t.deepEqual(asked, [[], ['model']]);
  t.deepEqual(run.said, [{ error: "the machine's disk is full" }]);
});

test('a disk that stays full ends the wait for what is not vital, with its error, and not for what is', async (t) => {
  let patient = true;
  const outputs = [{ name: 'notes' }, { name: 'home', vital: true }];
  let tries = 0;
  const run = saving({
    outputs,
    lasts: () => patient,
    collect: async () => {
      tries++;
      patient = tries < 2;
      return [uncollected('notes', full), tries < 3 ? uncollected('home', full) : good];
    },
  });
  const lost = {
    name: 'notes',
    file: '',
    size: 0,
    directory: false,
    error: "the machine's disk is full",
    passing: true,
  };
  t.deepEqual(await run.outputs(), [lost, { ...good, vital: true }]);
  t.is(tries, 3);
});

const disk = mkdtempSync(join(tmpdir(), 'troupe-save-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k,mode=0755', 'troupe-test', disk]).status === 0;
test.after.always(() => {
  if (mounted) spawnSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true, force: true });
});

for (const [title, zstd] of [
  ['the zstd program', undefined],
  // What it makes is no archive, and as long as one.
  ['Node', { kind: 'node', compress: () => new PassThrough(), decompress: () => new PassThrough() }],
] as const) {
  (mounted ? test : test.skip)(
    `a directory that finds no room is known to be the fault of a full disk (${title})`,
    async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'troupe-save-tree-'));
      t.teardown(() => rmSync(directory, { recursive: true }));
      mkdirSync(join(directory, 'below'));
      writeFileSync(join(directory, 'below/large'), randomBytes(500_000));
      const error = await t.throwsAsync<Error>(() => pack(directory, join(disk, title), zstd));
      t.like(uncollected('tree', error), { error: "the machine's disk is full", passing: true });
    },
  );
}

const UNFINISHED = '.svc-upload-0123abcd-7';

function home(t: { teardown(remove: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-save-home-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'tree/below'), { recursive: true });
  for (const [name, text] of [
    [`tree/${UNFINISHED}`, 'half'],
    [`tree/below/${UNFINISHED}`, 'half'],
    ['tree/.svc-upload-mine', 'own'],
    ['tree/below/file', 'whole'],
  ] as const) {
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

const WITHOUT = ['./', './.svc-upload-mine', './below/', './below/file'];

function namesIn(archive: string): readonly string[] {
  const listed = spawnSync('tar', ['--list', '--zstd', '--file', archive], { encoding: 'utf8' });
  return listed.stdout.trim().split('\n').toSorted();
}

test('uploads that were never finished are neither packed nor counted', async (t) => {
  const directory = home(t);
  await pack(join(directory, 'tree'), join(directory, 'packed'));
  t.deepEqual(namesIn(join(directory, 'packed')), WITHOUT);
  t.is(await logicalSize(join(directory, 'tree')), 'own'.length + 'whole'.length);
});

test('of a container they are not taken either, but where a finished file is the same one', async (t) => {
  const directory = home(t);
  // As a daemon does: entries are named by the directory's own name.
  const container = {
    getArchive: async () => spawn('tar', ['-c', '--sort=name', '-C', directory, 'tree']).stdout,
  } as unknown as Parameters<typeof takeOutputs>[0];
  const take = async (): Promise<OutputFile | undefined> => {
    const found = new Map([['home', { kind: 'output', name: 'home', what: 'dir', path: '/tree', size: 0 } as const]]);
    const [output] = await takeOutputs(container, [{ name: 'home', path: '/tree' }], found, directory, 1_000_000);
    return output;
  };
  const output = await take();
  t.like(output, { name: 'home', directory: true, logical: 'own'.length + 'whole'.length, error: undefined });
  t.deepEqual(namesIn(join(directory, 'home')), WITHOUT);
  // Killed between the two halves of giving it its name.
  linkSync(join(directory, 'tree', UNFINISHED), join(directory, 'tree/twin'));
  t.is((await take())?.error, undefined);
  t.true(namesIn(join(directory, 'home')).includes('./twin'));
});
