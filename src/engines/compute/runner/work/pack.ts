/**
 * Owns the packing of directories as tar with zstd. It runs as the runner over files that work left behind: links are packed as
 * links and never followed.
 */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { runTool, type ToolEnd } from '../process/tool.js';
import { findZstd, NO_ZSTD, type Zstd } from './zstd.js';

/** A directory takes at most this long to pack. */
const LONGEST_MS = 30 * 60_000;

/** Names are sorted and owners dropped, so that equal trees give equal archives (but for times). */
const PACK = ['--create', '--sparse', '--sort=name', '--owner=0', '--group=0', '--numeric-owner'];

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

function check(end: ToolEnd): void {
  if (end.exitCode !== 0) throw new Error(`tar ended with ${end.exitCode}${end.said === '' ? '' : `: ${end.said}`}`);
}
