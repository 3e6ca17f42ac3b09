/** Files in an image that has nothing but busybox: the same programs, with fewer options. Without a box around them. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile as put } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { pack } from 'tar-stream';
import { packDirectory, unpackArchive } from '../../actors/work/files/archive.js';
import { listDirectory } from '../../actors/work/files/list.js';
import { openFile, openHashes } from '../../actors/work/files/read.js';
import { removeFile } from '../../actors/work/files/remove.js';
import { WriteLocks } from '../../actors/work/files/write-locks.js';
import { writeFile } from '../../actors/work/files/write.js';
import type { AttachedWork } from '../../actors/work/attach.js';
import type { ExecEnd, ExecOrder, ExecStart } from '../../src/engines/compute/contract/engine.js';

const BUSYBOX = '/bin/busybox';
const PROGRAMS = 'cat chmod dirname find grep head ln mkdir mv readlink rm sh sha256sum stat tail tar xargs'.split(' ');
const never = new AbortController().signal;

let home = '';
test.before(async () => {
  home = await mkdtemp(join(tmpdir(), 'busybox-'));
  await mkdir(join(home, 'bin'));
  for (const name of PROGRAMS) await symlink(BUSYBOX, join(home, 'bin', name));
});
test.after.always(() => rm(home, { recursive: true, force: true }));

async function exec({ command, env }: ExecOrder): Promise<ExecStart> {
  const [, ...args] = command;
  const child = spawn(join(home, 'bin/sh'), args, { env: { ...env, PATH: join(home, 'bin') } });
  child.stdin.on('error', () => undefined);
  const complaint: Buffer[] = [];
  child.stderr.on('data', (data: Buffer) => complaint.push(data));
  const ended = new Promise<ExecEnd>((resolve) => {
    child.on('close', (code) => resolve({ end: 'Exited', exitCode: code ?? 137, timedOut: false }));
  });
  const output = async function* () {
    for await (const data of child.stdout) yield { stream: 'stdout' as const, data: data as Buffer };
    await ended;
    for (const data of complaint) yield { stream: 'stderr' as const, data };
  };
  return {
    outcome: 'Started',
    execution: {
      ended,
      output: output(),
      write: async (data) => void child.stdin.write(data),
      endInput: () => void child.stdin.end(),
      signal: () => undefined,
      resize: () => undefined,
    },
  };
}

const ENTERED = {
  work: 'w.1',
  plan: { amounts: { disk: 1e9 } },
  engine: { exec },
  over: (why: string) => new Error(why),
} as unknown as AttachedWork;

async function* bytesOf(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

async function all(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const taken: Uint8Array[] = [];
  for await (const part of parts) taken.push(part);
  return Buffer.concat(taken);
}

const withBusybox = spawnSync(BUSYBOX, ['true']).status === 0 ? test : test.skip;

withBusybox('files are written, read, listed, packed and deleted with busybox alone', async (t) => {
  const directory = join(home, 'work');
  const hashes = openHashes();
  const locks = new WriteLocks();
  const kept = { hashes, locks };
  for (const size of [0, 10, 1_000_000]) {
    const bytes = randomBytes(size);
    const path = join(directory, `d/size ${size}`);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const written = await writeFile(ENTERED, { path, mode: '0640', sha256 }, bytesOf(bytes), kept, never);
    t.deepEqual({ size, sha256, mode: '0640' }, { size: written.size, sha256: written.sha256, mode: written.mode });
    t.true((await readFile(path)).equals(bytes));
    const read = await openFile(ENTERED, path, openHashes(), never);
    t.is(read.sha256, sha256);
    t.true((await all(read.read(undefined))).equals(bytes));
    const wrong = { ifMatch: ['0'.repeat(64)], ifNoneMatch: undefined };
    await t.throwsAsync(removeFile(ENTERED, path, wrong, locks, never), { message: /^PreconditionFailed/ });
    const again = writeFile(ENTERED, { path, ifNoneMatch: '*' }, bytesOf(bytes), kept, never);
    await t.throwsAsync(again, { message: /^PreconditionFailed/ });
    await writeFile(ENTERED, { path, mode: '0640', ifMatch: [sha256] }, bytesOf(bytes), kept, never);
    if (size === 0) continue;
    const part = await openFile(ENTERED, path, hashes, never);
    t.true((await all(part.read({ start: 2, end: size - 2 }))).equals(bytes.subarray(2, size - 1)));
  }
  await put(join(directory, 'd/new\nline'), 'x');
  const { entries, truncated } = await listDirectory(ENTERED, join(directory, 'd'), never);
  t.false(truncated);
  t.deepEqual(
    entries.map(({ name, type, size }) => [name, type, size]),
    [
      ['new\nline', 'File', 1],
      ['size 0', 'File', 0],
      ['size 10', 'File', 10],
      ['size 1000000', 'File', 1_000_000],
    ],
  );
  const packed = await all(packDirectory(ENTERED, join(directory, 'd'), never));
  await unpackArchive(ENTERED, join(directory, 'copy'), bytesOf(packed), never);
  t.deepEqual((await readdir(join(directory, 'copy'))).toSorted(), entries.map(({ name }) => name).toSorted());
  await removeFile(ENTERED, join(directory, 'copy'), {}, locks, never);
  t.deepEqual(await readdir(directory), ['d']);
});

withBusybox('directories get the modes of the archive, those in a link’s place or beyond one do not', async (t) => {
  const archive = pack();
  const modes: readonly (readonly [string, number])[] = [
    ['shut', 0o555],
    ['shut/in "it"', 0o500],
    ['shut/in "it"/and\'s\nbelow $x `y` \\', 0o1_555],
    ['-n', 0o511],
    ['none', 0o001],
    ['none/less', 0o311],
  ];
  for (const [name, mode] of modes) archive.entry({ name: `${name}/`, mode, type: 'directory' });
  archive.entry({ name: 'shut/in "it"/file', mode: 0o444 }, 'x');
  archive.finalize();
  const into = join(home, 'modes');
  await unpackArchive(ENTERED, into, bytesOf(await buffer(archive)), never);
  for (const [name, mode] of modes) {
    if (name.startsWith('none/') && process.getuid?.() !== 0) continue;
    t.is((await stat(join(into, name))).mode & 0o7777, mode, name);
  }
  const beyond = pack();
  beyond.entry({ name: 'here/below/', mode: 0o555, type: 'directory' });
  beyond.finalize();
  await mkdir(join(home, 'other/below'), { recursive: true });
  await mkdir(join(home, 'linked'));
  await symlink(join(home, 'other'), join(home, 'linked/here'));
  const refused = unpackArchive(ENTERED, join(home, 'linked'), bytesOf(await buffer(beyond)), never);
  t.regex((await t.throwsAsync(refused)).message, /here\/below: its mode cannot be set/);
  t.is((await stat(join(home, 'other/below'))).mode & 0o700, 0o700);
});
