/**
 * Takes outputs from a container that has ended: the daemon hands out paths within the container's own root, so a link
 * leads to nothing of the host. Where each lies was found by the box's first process, whose word is only a path inside.
 * A file is taken as it is, a directory as tar.zst with `./` names; owners are dropped.
 */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Transform, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, pack, type Header } from 'tar-stream';
import type { Container } from 'dockerode';
import { SparseWriter } from '../../../sparse-writer.js';
import type { OutputFile } from '../contract/engine.js';
import { machineFault } from '../shared/machine-fault.js';
import { OutputRoom } from '../shared/output-room.js';
import { uncollected } from '../shared/save-outputs.js';
import { isUpload } from '../shared/upload-names.js';
import { findZstd, NO_ZSTD } from '../shared/zstd.js';
import { wordsOf } from './daemon.js';
import type { BoxRecord } from './records.js';

/** Pauses, first and last. */
const AGAIN_MS = [50, 1_600] as const;

type Found = Extract<BoxRecord, { kind: 'output' }>;

export async function takeOutputs(
  container: Container,
  wanted: readonly { readonly name: string; readonly path: string; readonly vital?: boolean | undefined }[],
  found: ReadonlyMap<string, Found>,
  directory: string,
  most: number,
  settled: readonly OutputFile[] = [],
): Promise<OutputFile[]> {
  const taken: OutputFile[] = [];
  const room = new OutputRoom(most);
  for (const { name, path, vital } of wanted) {
    const file = join(directory, name);
    const before = settled.find((output) => output.name === name);
    if (before !== undefined) {
      if (before.error === undefined) room.take(path, before.size, true);
      taken.push(before);
      continue;
    }
    try {
      const output = await takeAgain(() => take(container, path, found.get(name), file, most));
      if (output === undefined) continue;
      room.take(path, output.size, vital);
      taken.push({ name, ...output });
    } catch (error) {
      await rm(file, { force: true }).catch(() => undefined);
      taken.push(failed(name, error as Error));
    }
  }
  return taken;
}

/** A daemon that cannot be reached may be back later, as room on the disk may. */
function failed(name: string, error: Error & { readonly code?: unknown; readonly syscall?: unknown }): OutputFile {
  const away = error.syscall === 'connect' || error.code === 'ECONNRESET';
  const words = { name, file: '', size: 0, directory: false, error: 'the container daemon cannot be reached' };
  if (away) return { ...words, passing: true };
  return uncollected(name, machineFault(error) === undefined ? new Error(wordsOf(error)) : error);
}

/** Nothing at all came, not even what was asked for. */
class Nothing extends Error {}

/** While it puts away what has ended, Podman says for a moment that there is nothing. */
async function takeAgain<T>(act: () => Promise<T>): Promise<T> {
  for (let pause: number = AGAIN_MS[0]; ; pause *= 2) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Nothing) || pause > AGAIN_MS[1]) throw error;
    }
    await delay(pause);
  }
}

async function take(
  container: Container,
  path: string,
  found: Found | undefined,
  file: string,
  most: number,
): Promise<Omit<OutputFile, 'name'> | undefined> {
  switch (found?.what) {
    case undefined:
      throw new Error(`${path} could not be looked for: the box ended too soon`);
    case 'none':
      throw new Error(`${path} does not exist`);
    case 'system':
      throw new Error(`${path} leads out of the work's own files`);
    case 'holds':
      throw new Error(`${path} holds directories of others, which are not taken with it`);
    case 'fifo':
      throw new Error(`${path} is neither a file nor a directory`);
    case 'file':
      // A file of holes can seem endless to its reader.
      if (found.size > most) throw new Error(`${path} is larger than the work's disk`);
      break;
    case 'empty':
      // Collected whether or not the Job asked for it: a program that left nothing there has no such output.
      if (path.endsWith('/outputs')) return undefined;
      break;
    case 'dir':
      break;
  }
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  const source = async (): Promise<Readable> =>
    (await container.getArchive({ path: found.path })) as unknown as Readable;
  if (found.what === 'file') await takeFile(await source(), file, most);
  const logical =
    found.what === 'file' ? undefined : await takeWithoutUploads(source, basename(found.path), file, most);
  return { file, size: (await stat(file)).size, directory: found.what !== 'file', logical };
}

async function takeFile(source: Readable, file: string, most: number): Promise<void> {
  const entries = extract();
  entries.on('error', () => undefined);
  const read = pipeline(source, entries as unknown as Writable);
  read.catch(() => undefined);
  let taken = false;
  for await (const entry of entries) {
    if (taken || entry.header.type !== 'file') throw new Error('it is no file any more');
    taken = true;
    const to = await open(file, 'w', 0o600);
    try {
      const sparse = new SparseWriter(to);
      await pipeline(entry as unknown as Readable, bounded(most), async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) await sparse.write(chunk);
      });
      await sparse.end();
    } finally {
      await to.close();
    }
  }
  await read;
  if (!taken) throw new Nothing('it is not there any more');
}

/** A name that is taken stands for a file which was left out by its first one. */
class LeftOut extends Error {}

/** Without uploads that were never finished, but where a finished file has the name of one as well: the daemon tells its bytes by the first. */
async function takeWithoutUploads(
  source: () => Promise<Readable>,
  ...more: readonly [top: string, file: string, most: number]
): Promise<number> {
  try {
    return await takeDirectory(await source(), ...more, isUpload);
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    return takeDirectory(await source(), ...more, () => false);
  }
}

/** The daemon names entries by the directory's own name. Answers how many bytes its files are. */
async function takeDirectory(
  source: Readable,
  top: string,
  file: string,
  most: number,
  isLeftOut: (name: string) => boolean,
): Promise<number> {
  const entries = extract();
  entries.on('error', () => undefined);
  const packed = pack();
  packed.on('error', () => undefined);
  const read = pipeline(source, bounded(most * 2), entries as unknown as Writable);
  read.catch((error: Error) => packed.destroy(error));
  const written = compress(packed as unknown as Readable, file);
  written.catch((error: Error) => entries.destroy(error));
  let some = false;
  let bytes = 0;
  const inner = (name: string): string => `./${name.slice(top.length).replace(/^\/+/, '')}`;
  try {
    for await (const entry of entries) {
      some = true;
      const { header } = entry;
      const path = inner(header.name);
      // Podman leaves the last slash out.
      const name = header.type === 'directory' && !path.endsWith('/') ? `${path}/` : path;
      if (header.type === 'file' && isLeftOut(basename(path))) {
        entry.resume();
        continue;
      }
      if (header.type === 'link' && isLeftOut(basename(header.linkname ?? ''))) throw new LeftOut();
      const named: Header = { ...header, name, uid: 0, gid: 0, uname: '', gname: '' };
      if (header.type === 'link' && header.linkname != null) named.linkname = inner(header.linkname);
      if (header.type === 'file') bytes += header.size ?? 0;
      if (header.type === 'file' && (header.size ?? 0) > 0)
        await pipeline(entry as unknown as Readable, packed.entry(named) as unknown as Writable);
      else {
        entry.resume();
        packed.entry(named);
      }
    }
    if (!some) throw new Nothing('it is not there any more');
    packed.finalize();
  } catch (error) {
    packed.destroy(error as Error);
    const unwritten: unknown = await written.catch((reason: unknown) => reason);
    // What breaks off for it says less.
    throw machineFault(unwritten) === undefined ? error : unwritten;
  }
  await Promise.all([read, written]);
  return bytes;
}

async function compress(source: Readable, file: string): Promise<void> {
  const zstd = findZstd();
  const to: Writable = createWriteStream(file, { mode: 0o600 });
  switch (zstd.kind) {
    case 'none':
      throw new Error(NO_ZSTD);
    case 'node':
      return pipeline(source, zstd.compress(), to);
    case 'program': {
      const child = spawn(zstd.path, ['-q', '-3', '-c'], { stdio: ['pipe', 'pipe', 'ignore'] });
      const ended = new Promise<number>((done) => child.once('close', (code) => done(code ?? 137)));
      const [fed, stored] = await Promise.allSettled([pipeline(source, child.stdin), pipeline(child.stdout, to)]);
      // Without room the second breaks off, and for that the first.
      for (const part of [stored, fed]) if (part.status === 'rejected') throw part.reason;
      if ((await ended) !== 0) throw new Error('zstd failed');
    }
  }
}

/** Passes so many bytes and fails at more. */
function bounded(most: number): Transform {
  let seen = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (seen > most) done(new Error("it is larger than the work's disk"));
      else done(null, chunk);
    },
  });
}
