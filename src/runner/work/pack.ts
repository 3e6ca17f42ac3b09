/**
 * Packs directories as tar with zstd. It runs as the runner over files that work left behind: links are packed as
 * links and never followed. Uploads that were never finished are left out.
 */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { asOwner, runTool, type ToolEnd } from '../../engines/compute/shared/tool.js';
import { UPLOAD_GLOB } from '../../engines/compute/shared/upload-names.js';
import { findZstd, NO_ZSTD, type Zstd } from '../../engines/compute/shared/zstd.js';

/** A directory takes at most this long to pack. */
const LONGEST_MS = 30 * 60_000;

/**
 * Names are sorted, owners dropped and headers named alike, so that equal trees give equal archives. Times are kept to the nanosecond, and
 * the map of a sparse file lies in its header.
 */
const PACK = [
  ...['--create', '--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--sparse', '--sparse-version=0.0'],
  `--exclude=${UPLOAD_GLOB}`,
  ...['--format=posix', '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime'],
];

/** Packs what is in `directory` to `file`. Throws with tar's own words. */
export async function pack(directory: string, file: string, zstd: Zstd = findZstd()): Promise<void> {
  switch (zstd.kind) {
    case 'program': {
      const compress = ['--use-compress-program', `${zstd.path} -q -3`];
      const args = [...PACK, ...compress, '--file', file, '--directory', directory, '.'];
      return check(await runTool({ ...asOwner('tar', args), timeoutMs: LONGEST_MS }));
    }
    case 'node': {
      const tar = asOwner('tar', [...PACK, '--file', '-', '--directory', directory, '.']);
      const running = spawn(tar.file, tar.args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: LONGEST_MS });
      const ended = new Promise<number>((done) => running.once('close', (code) => done(code ?? 137)));
      await pipeline(running.stdout, zstd.compress(), createWriteStream(file, { mode: 0o600 }));
      return check({ exitCode: await ended, said: '', stderr: '' });
    }
    case 'none':
      throw new Error(NO_ZSTD);
  }
}

function check({ exitCode, said, stderr }: Pick<ToolEnd, 'exitCode' | 'said' | 'stderr'>): void {
  if (exitCode === 0) return;
  throw new Error(`tar ended with ${exitCode}${said === '' ? '' : `: ${said}`}`, { cause: stderr });
}
