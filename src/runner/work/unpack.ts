/**
 * Unpacks archives for work, by a program in Perl (`extract.pl`). It happens in a box like the work's own, with the archive and the directory in it and
 * nothing else, in the work's group: whatever an archive holds, it reaches no more than the work itself would.
 */
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Unpack } from '../../engines/compute/contract/engine.js';
import type { Group } from '../limits/groups.js';
import { firstFeed, launch } from '../process/launch.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import type { ScratchSlot } from './scratch.js';
import { bareScript } from '../../engines/compute/shared/script.js';
import { isKnown, OWN } from '../isolation/calls.js';
import { findZstd, NO_ZSTD } from '../../engines/compute/shared/zstd.js';

const EXTRACT = bareScript(readFileSync(new URL('extract.pl', import.meta.url), 'utf8'));
/** The exit codes of that program. Its error output says what it could not make, or what is wrong with the archive. */
const EXTRACTED = { whole: 0, part: 1, broken: 2, full: 3 } as const;

/** An archive takes at most this long to unpack. */
const LONGEST_MS = 30 * 60_000;

export interface Unpacking {
  readonly spec: WireOrder;
  /** In the inputs of the place, as its user reaches it. */
  readonly archive: string;
  readonly format: Exclude<Unpack, 'no'>;
  /** Exists and belongs to the place's user; as that user reaches it. */
  readonly directory: string;
  readonly slot: ScratchSlot;
  readonly group: Group;
  readonly deps: WorkDeps;
  readonly signal: AbortSignal;
}

/** What became of the archive. `message`: what could not be made, in a few lines for the work's owner. */
export type Unpacked =
  | { readonly outcome: 'Whole' }
  /** What could be made is there. */
  | { readonly outcome: 'Part'; readonly message: string };

/** Throws only when the machine is at fault, or with the signal. */
export async function unpack(unpacking: Unpacking): Promise<Unpacked> {
  const { format, archive, slot } = unpacking;
  const zstd = findZstd();
  if (format !== 'tar.zst') return extract(unpacking, archive, format === 'tar.gz' ? ['gzip', '-dcq', '--'] : []);
  switch (zstd.kind) {
    case 'program':
      return extract(unpacking, archive, ['zstd', '-dcq', '--']);
    case 'node': {
      const name = `${basename(archive)}.tar`;
      const plain = join(slot.realPath('inputs'), name);
      try {
        await decompress(unpacking, zstd.decompress(), plain);
        return await extract(unpacking, join(slot.shownPath('inputs'), name), []);
      } finally {
        await rm(plain, { force: true });
      }
    }
    case 'none':
      throw new Error(NO_ZSTD);
  }
}

async function decompress({ archive, spec, slot, signal }: Unpacking, zstd: Transform, to: string): Promise<void> {
  const source = createReadStream(join(slot.realPath('inputs'), basename(archive)));
  await pipeline(source, zstd, atMost(spec.limits.disk), createWriteStream(to, { mode: 0o644 }), { signal });
}

/** `filter`: what decompresses it. */
async function extract(unpacking: Unpacking, archive: string, filter: readonly string[]): Promise<Unpacked> {
  const { spec, directory, slot, group, deps, signal } = unpacking;
  const box = {
    root: undefined,
    hostId: slot.hostId,
    hostname: 'work',
    mounts: [
      { source: archive, target: ARCHIVE, readOnly: true },
      { source: directory, target: '/target', readOnly: false },
    ],
    directories: [],
    secretsDir: spec.inside.secrets,
    secretFiles: new Map<string, Buffer>(),
    tmpBytes: 1 << 20,
    shmBytes: 1 << 20,
    rlimits: undefined,
  };
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
  const command = commandOf(deps, filter);
  const memberFiles = group.openMemberFiles();
  const plan = deps.isolation.box(box, { command, env, workingDir: '/target' }, firstFeed(memberFiles.length));
  const running = await launch(plan, memberFiles, deps.pipes, undefined);
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
  if (exit.executed && exit.exitCode === EXTRACTED.whole) return { outcome: 'Whole' };
  const said = exit.error.trim().split('\n').join('; ');
  const message = said === '' ? `the unpacking ended with ${exit.exitCode}` : said;
  // A box that could not be made, or a disk that is full: nothing that the archive is the cause of.
  if (!exit.executed || exit.exitCode === EXTRACTED.full) throw new Error(message);
  return { outcome: 'Part', message };
}

const ARCHIVE = '/archive';

/** Without Perl by GNU tar, which cannot make all that can be saved; work that saves anything needs Perl anyway. */
function commandOf({ agent }: WorkDeps, filter: readonly string[]): readonly string[] {
  if (agent !== undefined) return extractCommand(agent.program.interpreter, ARCHIVE, filter);
  const options = ['--extract', '--no-same-owner', '--no-overwrite-dir', '--delay-directory-restore'];
  const program = filter.length === 0 ? [] : ['--use-compress-program', filter[0] ?? ''];
  return ['tar', ...options, ...program, '--file', ARCHIVE];
}

/** `filter`: words of a program that is given the archive's path and prints the tar. */
export function extractCommand(perl: string, archive: string, filter: readonly string[]): readonly string[] {
  const { arch } = process;
  const calls = [OWN.utimensat, OWN.mknodat, OWN.statx].map((call) => (isKnown(arch) ? call[arch] : 0));
  return [perl, '-e', EXTRACT, ...calls.map(String), archive, ...filter];
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
