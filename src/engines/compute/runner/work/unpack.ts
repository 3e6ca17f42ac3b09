/**
 * Owns the unpacking of archives for work. It happens in a box like the work's own, with the archive and the directory in it and
 * nothing else, in the work's group: whatever an archive holds, it reaches no more than the work itself would.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Unpack } from '../../engine.js';
import type { Group } from '../limits/groups.js';
import { firstFeed, launch } from '../process/launch.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import type { Place } from './scratch.js';
import { findZstd, NO_ZSTD } from './zstd.js';

/** An archive takes at most this long to unpack. */
const LONGEST_MS = 30 * 60_000;

export interface Unpacking {
  readonly order: WireOrder;
  /** In the inputs of the place, as its user reaches it. */
  readonly archive: string;
  readonly format: Exclude<Unpack, 'no'>;
  /** Exists and belongs to the place's user; as that user reaches it. */
  readonly directory: string;
  readonly place: Place;
  readonly group: Group;
  readonly deps: WorkDeps;
  readonly signal: AbortSignal;
}

/** Throws with tar's own words. */
export async function unpack(unpacking: Unpacking): Promise<void> {
  const { format } = unpacking;
  const zstd = findZstd();
  if (format !== 'tar.zst') return extract(unpacking, unpacking.archive, format === 'tar.gz' ? ['--gzip'] : []);
  switch (zstd.kind) {
    case 'program':
      return extract(unpacking, unpacking.archive, ['--use-compress-program', 'zstd -q']);
    case 'node': {
      const name = `${basename(unpacking.archive)}.tar`;
      const plain = join(unpacking.place.realPath('inputs'), name);
      await pipeline(
        createReadStream(join(unpacking.place.realPath('inputs'), basename(unpacking.archive))),
        zstd.decompress(),
        atMost(unpacking.order.limits.disk),
        createWriteStream(plain, { mode: 0o644 }),
        { signal: unpacking.signal },
      );
      await extract(unpacking, join(unpacking.place.shownPath('inputs'), name), []);
      return unlink(plain);
    }
    case 'none':
      throw new Error(NO_ZSTD);
  }
}

async function extract(unpacking: Unpacking, archive: string, decompress: readonly string[]): Promise<void> {
  const { order, directory, place, group, deps, signal } = unpacking;
  const box = {
    root: undefined,
    hostId: place.hostId,
    hostname: 'work',
    mounts: [
      { source: archive, target: '/archive', readOnly: true },
      { source: directory, target: '/target', readOnly: false },
    ],
    directories: [],
    secretsDir: order.inside.secrets,
    secretFiles: new Map<string, Buffer>(),
    tmpBytes: 1 << 20,
    shmBytes: 1 << 20,
    rlimits: undefined,
  };
  const command = [
    'tar',
    '--extract',
    '--no-same-owner',
    '--no-overwrite-dir',
    '--delay-directory-restore',
    ...decompress,
  ];
  command.push('--file', '/archive');
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
  const entrances = group.openEntrances();
  const plan = deps.isolation.box(box, { command, env, workingDir: '/target' }, firstFeed(entrances.length));
  const running = await launch(plan, entrances, deps.pipes, undefined);
  const end = (): void => running.kill();
  const timer = setTimeout(end, LONGEST_MS);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const exit = await running.exited;
  await running.drained;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  running.release();
  signal.throwIfAborted();
  if (exit.executed && exit.exitCode === 0) return;
  throw new Error(`tar ended with ${exit.exitCode}: ${exit.error.trim().split('\n')[0] ?? ''}`);
}

/** A few compressed bytes can stand for a whole disk. */
function atMost(bytes: number): Transform {
  let seen = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (seen > bytes) done(new Error('the archive is larger than the disk'));
      else done(null, chunk);
    },
  });
}
