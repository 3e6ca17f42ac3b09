/**
 * Gives inputs to a container: each travels into the container, before it runs, as a tar stream that the daemon unpacks within the
 * container's own root. So no directory of this machine is mounted and nothing in an archive can reach one.
 *
 * What the work may only read belongs to a user that it is not and has no capability to be (`READER`), and is closed to change;
 * where it lies among the work's own files, the work can put it aside as a whole, which hurts nobody but itself.
 * Owners in archives are dropped; devices and the like are refused; nothing goes through a link that an archive brought.
 */
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import type { Container } from 'dockerode';
import { WORK_ROOT } from '../../../brand.js';
import type { WorkSpec } from '../contract/engine.js';
import { isInside } from '../shared/is-inside.js';
import { findZstd, NO_ZSTD } from '../shared/zstd.js';
import { BOX_RUNTIME_DIR } from './box-program.js';

type Input = WorkSpec['inputs'][number];

/** Owner of what may only be read; nobody inside can become it. */
const READER = 65_533;

/** The image's own directories, and what lies there is not hidden. */
const SYSTEM = [
  '/usr',
  '/etc',
  '/proc',
  '/dev',
  '/sys',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  BOX_RUNTIME_DIR,
];
const RESERVED = ['/run', '/var/run', '/var/tmp'];
/** Directories of the work: an archive may be unpacked into them, nothing may lie in their place. */
const OWN = ['/workspace', '/root', '/tmp', `${WORK_ROOT}/outputs`, `${WORK_ROOT}/state`];

/**
 * Answers what of the saved files could not be restored, undefined when there is nothing to say. Throws an Error that says what is wrong
 * with any other input.
 */
export async function giveInputs(
  container: Container,
  spec: WorkSpec,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (spec.inputs.length === 0) return undefined;
  const missing = new Missing();
  const links = new Set<string>();
  const taken: string[] = [];
  for (const input of spec.inputs) {
    try {
      const path = placeOf(input, taken);
      if (!(input.writable === true && OWN.includes(path))) taken.push(path);
      const archive = pack();
      // An entry that ends too early takes the whole with it; the writer of the entry hears of it.
      archive.on('error', () => undefined);
      const through = (archive as unknown as Readable).pipe(new PassThrough());
      const sent = container.putArchive(through, { path: '/', abortSignal: signal });
      // The writer reports a broken archive, and the daemon one that it takes no more of.
      let refused: Error | undefined;
      let broken = false;
      sent.catch((error: Error) => {
        if (!broken) refused = error;
        // Nobody would ever take what waits in it, and its writer would wait for good.
        through.destroy(error);
      });
      try {
        await fill(archive, input, path, { links, missing });
        archive.finalize();
      } catch (error) {
        broken = true;
        archive.destroy();
        through.destroy(error as Error);
        await sent.catch(() => undefined);
        throw refused ?? error;
      }
      await sent;
    } catch (error) {
      signal.throwIfAborted();
      if (input.saved === true && !isConnection(error)) {
        missing.add(input.path, (error as Error).message);
        continue;
      }
      throw new Error(`${input.path}: ${(error as Error).message}`, { cause: error });
    }
  }
  const through = taken.find((path) => leadsThrough(links, path));
  if (through !== undefined) throw new Error(`${through}: ${THROUGH_LINK}`);
  return missing.words();
}

/** The daemon is away: a later try may find it. */
export function isConnection(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code);
}

/** What of saved files is not restored; the first few in words. */
class Missing {
  private readonly told: string[] = [];
  private count = 0;

  add(name: string, why: string): void {
    this.count++;
    if (this.told.length < MOST_TOLD) this.told.push(`${name.slice(-100)}: ${why.slice(0, 200)}`);
  }

  words(): string | undefined {
    if (this.count === 0) return undefined;
    const more = this.count - this.told.length;
    return [...this.told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  }
}

const MOST_TOLD = 8;

/** Of an archive that is being given. */
interface Giving {
  readonly links: Set<string>;
  readonly missing: Missing;
}

const THROUGH_LINK = 'the way there leads through a link';

function placeOf(input: Input, taken: readonly string[]): string {
  const path = resolve('/', input.path);
  const into = input.writable === true && input.unpack !== 'no';
  const fixed = [...SYSTEM, ...RESERVED, '/run/secrets', `${WORK_ROOT}/inputs`, ...(into ? [] : OWN)];
  const closed = [...SYSTEM, ...RESERVED].some((name) => isInside(name, path));
  const over = [...fixed, ...OWN.filter((name) => name !== path)].some((name) => isInside(path, name));
  const nested = taken.some((other) => isInside(other, path) || isInside(path, other));
  if (!input.path.startsWith('/') || closed || over || nested) throw new Error('no place for an input');
  return path;
}

async function fill(archive: Pack, input: Input, path: string, giving: Giving): Promise<void> {
  const { links } = giving;
  const writable = input.writable === true;
  if (leadsThrough(links, path)) throw new Error(THROUGH_LINK);
  const name = path.slice(1);
  const put = writer(archive, writable);
  const above = name.split('/').slice(0, -1);
  for (let depth = 1; depth <= above.length; depth++) {
    const parent = above.slice(0, depth).join('/');
    // Only what is surely ours: a directory of the image keeps its owner.
    if (`/${parent}` === `${WORK_ROOT}/inputs`) await put({ name: parent, type: 'directory', mode: 0o755 });
    else if (OWN.some((own) => own !== '/tmp' && isInside(own, `/${parent}`)) || parent === WORK_ROOT.slice(1)) {
      archive.entry({ name: parent, type: 'directory', mode: 0o755, uid: 0, gid: 0 });
    }
  }
  if (input.unpack === 'no') return putTree(put, input.source, name);
  if (!OWN.includes(path)) await put({ name, type: 'directory', mode: 0o755 });
  await putArchive(put, input, name, giving);
}

type Head = Partial<Header> & { readonly name: string };
type Put = (header: Head, content?: Readable) => Promise<void>;

function writer(archive: Pack, writable: boolean): Put {
  return async (header, content) => {
    const { name, type = 'file', size = 0, linkname, mtime } = header;
    const own = writable ? { uid: 0, gid: 0 } : { uid: READER, gid: READER };
    // What is the work's own is as it was saved; its readers have no other right than all others.
    const bits = (header.mode ?? 0o644) & 0o7777;
    const mode = writable ? bits : (bits & 0o111) === 0 && type !== 'directory' ? 0o444 : 0o555;
    const head = {
      name,
      type,
      size,
      mode,
      ...own,
      mtime: mtime ?? new Date(),
    };
    if (content === undefined) {
      archive.entry({ ...head, size: 0, ...(linkname == null ? {} : { linkname }) });
      return;
    }
    await pipeline(content, archive.entry(head) as unknown as Writable);
  };
}

async function putTree(put: Put, source: string, name: string, top = true): Promise<void> {
  const found = await lstat(source);
  const { mode, mtime } = found;
  if (found.isSymbolicLink() && !top) {
    return put({ name, type: 'symlink', linkname: await readlink(source), mtime });
  }
  if (found.isDirectory()) {
    await put({ name, type: 'directory', mode, mtime });
    for (const child of (await readdir(source)).toSorted())
      await putTree(put, join(source, child), `${name}/${child}`, false);
    return;
  }
  if (!found.isFile()) throw new Error('neither a file nor a directory');
  if (found.size === 0) return put({ name, mode, mtime, size: 0 });
  await put({ name, mode, mtime, size: found.size }, createReadStream(source, { end: found.size - 1 }));
}

async function putArchive(put: Put, input: Input, below: string, { links, missing }: Giving): Promise<void> {
  const entries = extract();
  // That of an archive which ends too early comes after `read` has had its own, when nothing else listens.
  entries.on('error', () => undefined);
  const read = readArchive(input, entries as unknown as Writable);
  // Its error also ends the entries.
  read.catch(() => undefined);
  for await (const entry of entries) {
    const { header } = entry;
    const inner = resolve('/', header.name).slice(1);
    const type = header.type ?? 'file';
    const name = inner === '' ? below : `${below}/${inner}`;
    if (inner === '' || header.name.split('/').includes('..') || leadsThrough(links, `/${name}`)) {
      // The place itself keeps its mode; what would leave it is not taken.
      entry.resume();
      continue;
    }
    entry.on('error', () => undefined);
    const odd = unreadable(header);
    if (odd !== undefined) {
      const why = `the archive holds ${header.name}, which is ${odd}`;
      if (input.saved !== true) throw new Error(why);
      entry.resume();
      missing.add(header.name, odd);
      continue;
    }
    switch (type) {
      case 'directory':
      case 'fifo':
        entry.resume();
        await put({ ...header, name, type });
        continue;
      case 'symlink':
        entry.resume();
        links.add(`/${name}`);
        await put({ ...header, name, type });
        continue;
      case 'link': {
        entry.resume();
        const target = resolve('/', header.linkname ?? '').slice(1);
        if ((header.linkname ?? '').split('/').includes('..') || leadsThrough(links, `/${below}/${target}`)) continue;
        await put({ ...header, name, type, linkname: `${below}/${target}` });
        continue;
      }
      case 'file':
      case 'contiguous-file':
        await put({ ...header, name, type: 'file' }, entry as unknown as Readable);
        continue;
      default:
    }
  }
  await read;
}

const READABLE: ReadonlySet<unknown> = new Set(['directory', 'symlink', 'link', 'fifo', 'file', 'contiguous-file']);

/** Of what kind an entry is that would come out wrong. The bytes of a sparse file are its pieces, without what lies between them. */
function unreadable({ type, pax }: Header): string | undefined {
  if (Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'))) return 'a sparse file';
  // The library says null of kinds that it does not know, such as the sparse files of GNU tar.
  if ((type as Header['type'] | null) === null) return 'of an unknown kind';
  return READABLE.has(type ?? 'file') ? undefined : `a ${type}`;
}

/** True when a link lies on the way, or in the place itself. */
function leadsThrough(links: ReadonlySet<string>, path: string): boolean {
  if (links.size === 0) return false;
  const names = path.split('/').filter(Boolean);
  return names.some((_, index) => links.has(`/${names.slice(0, index + 1).join('/')}`));
}

async function readArchive(input: Input, entries: Writable): Promise<void> {
  const source = createReadStream(input.source);
  switch (input.unpack) {
    case 'no':
    case 'tar':
      return pipeline(source, entries);
    case 'tar.gz':
      return pipeline(source, createGunzip(), entries);
    case 'tar.zst': {
      const zstd = findZstd();
      if (zstd.kind === 'none') throw new Error(NO_ZSTD);
      if (zstd.kind === 'node') return pipeline(source, zstd.decompress(), entries);
      const child = spawn(zstd.path, ['-dcq', input.source], { stdio: ['ignore', 'pipe', 'ignore'] });
      source.destroy();
      const ended = new Promise<number>((done) => child.once('close', (code) => done(code ?? 137)));
      const through = new PassThrough();
      const piped = pipeline(child.stdout, through, { end: false });
      // A truncated archive must not look like a short one.
      const whole = piped.then(async () => {
        if ((await ended) !== 0) throw new Error('not an archive of zstd');
        through.end();
      });
      whole.catch((error: Error) => through.destroy(error));
      await Promise.all([whole, pipeline(through, entries)]);
      return;
    }
  }
}
