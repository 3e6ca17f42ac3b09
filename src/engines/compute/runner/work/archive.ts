/**
 * Owns packing and unpacking of directories as tar, plain, with gzip or with zstd. Packing runs as the runner over files that work left
 * behind: links are packed as links and never followed. Unpacking runs as the work's own user and in its group, so a
 * hostile archive can reach only what the work itself could.
 */
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Unpack } from '../../engine.js';
import { insideGroups, runTool, type ToolEnd } from '../process/tool.js';
import { findZstd, NO_ZSTD, type Zstd } from './zstd.js';

/** A directory takes at most this long to pack or to unpack. */
const LONGEST_MS = 30 * 60_000;

/** Names are sorted and owners dropped, so that equal trees give equal archives (but for times). */
const PACK = ['--create', '--sparse', '--sort=name', '--owner=0', '--group=0', '--numeric-owner'];
/** The directory itself stays closed to others, whatever the archive says of it. */
const UNPACK = ['--extract', '--no-same-owner', '--no-overwrite-dir', '--delay-directory-restore'];

/** Packs what is in `directory` to `file`. Throws with tar's own words. */
export async function pack(directory: string, file: string, zstd: Zstd = findZstd()): Promise<void> {
  switch (zstd.kind) {
    case 'program': {
      const compress = ['--use-compress-program', `${zstd.path} -q -3`];
      const args = [...PACK, ...compress, '--file', file, '--directory', directory, '.'];
      return check(await runTool({ file: 'tar', args, timeoutMs: LONGEST_MS }));
    }
    case 'node': {
      const tar = spawn('tar', [...PACK, '--file', '-', '--directory', directory, '.'], {
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: LONGEST_MS,
      });
      const ended = new Promise<number>((done) => tar.once('close', (code) => done(code ?? 137)));
      await pipeline(tar.stdout, zstd.compress(), createWriteStream(file, { mode: 0o600 }));
      return check({ exitCode: await ended, stdout: '', said: '' });
    }
    case 'none':
      throw new Error(NO_ZSTD);
  }
}

export interface Unpacking {
  readonly archive: string;
  readonly format: Exclude<Unpack, 'no'>;
  /** Exists, is empty, and belongs to the user; as that user reaches it. */
  readonly directory: string;
  readonly hostId: number | undefined;
  readonly entrances: readonly number[];
  readonly signal: AbortSignal;
}

/** The archive is opened by the runner: its user need not be able to reach it. */
export async function unpack(unpacking: Unpacking, zstd: Zstd = findZstd()): Promise<void> {
  const { archive, format, directory, hostId, entrances, signal } = unpacking;
  const compressed = format === 'tar.zst';
  const target = ['--directory', directory, '--file', '-'];
  if (!compressed || zstd.kind === 'program') {
    const zstdProgram = compressed && zstd.kind === 'program' ? ['--use-compress-program', `${zstd.path} -q`] : [];
    const decompress = format === 'tar.gz' ? ['--gzip'] : zstdProgram;
    const file = await open(archive, 'r');
    try {
      const args = [...UNPACK, ...decompress, ...target];
      const tool = { file: 'tar', args, stdin: file.fd, hostId, entrances, signal, timeoutMs: LONGEST_MS };
      return check(await runTool(tool));
    } finally {
      await file.close();
    }
  }
  if (zstd.kind === 'none') throw new Error(NO_ZSTD);
  const [program, args] = insideGroups('tar', [...UNPACK, ...target], entrances, 3);
  const tar = spawn(program, args, {
    stdio: ['pipe', 'ignore', 'ignore', ...entrances],
    signal,
    timeout: LONGEST_MS,
    ...(hostId === undefined ? {} : { uid: hostId, gid: hostId }),
  });
  const ended = new Promise<number>((done) => {
    tar.once('error', () => done(127));
    tar.once('close', (code) => done(code ?? 137));
  });
  const { stdin } = tar;
  if (stdin === null) throw new Error('tar takes no input');
  await pipeline(createReadStream(archive), zstd.decompress(), stdin, { signal });
  return check({ exitCode: await ended, stdout: '', said: '' });
}

function check(end: ToolEnd): void {
  if (end.exitCode !== 0) throw new Error(`tar ended with ${end.exitCode}${end.said === '' ? '' : `: ${end.said}`}`);
}
