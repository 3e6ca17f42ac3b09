/**
 * The box runtime: what every container has read-only so that `box.pl` runs in any image, also one without a shell: this
 * machine's Perl with the few libraries that it loads, and the program. It lies in a volume of the daemon named by its content, so works
 * of an older program keep theirs; it is filled through a container that never runs, which needs no directory of this machine.
 *
 * It is written once: while files are written again, boxes that begin then find them empty or cut off. The container's name is the lock
 * between all who would fill it, and the last file says that it is whole, so that one whose filler died is filled again.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pack } from 'tar-stream';
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import { EngineRefusal } from '../shared/refusal.js';
import { boxProgram, BOX_RUNTIME_DIR } from './box-program.js';
import { found, isTaken, removeContainer } from './daemon.js';
import { LABEL } from './labels.js';

const run = promisify(execFile);

export interface BoxRuntimeVolume {
  /** Name of the volume. */
  readonly volume: string;
  readonly archive: Buffer;
}

/** The first words of a container's or an exec's command. */
export const BOX_RUNTIME_COMMAND: readonly string[] = [
  `${BOX_RUNTIME_DIR}/ld.so`,
  '--library-path',
  `${BOX_RUNTIME_DIR}/lib`,
  `${BOX_RUNTIME_DIR}/perl`,
  `${BOX_RUNTIME_DIR}/box.pl`,
];

/** The last file of a box runtime. */
const WHOLE = 'whole';
/** Five megabytes are long written by then. */
const FILLED_MS = 30_000;
/** For all of it, also when one that stays must be waited for. */
const FILL_MS = 3 * FILLED_MS;
const LOOK_MS = 50;

/** What a running Perl has mapped is what it needs: asked of itself, since no other list is right on every system. */
const ASK = 'open F, "<", "/proc/self/maps"; while (<F>) { print "$1\\n" if m{ (/\\S+)$} }';

/** Reads this machine's Perl. Throws EngineRefusal when there is none, or none of a processor that the program knows. */
export async function makeBoxRuntimeVolume(): Promise<BoxRuntimeVolume> {
  const program = boxProgram(process.arch);
  if (program === undefined) throw new EngineRefusal('Unavailable', `containers on ${process.arch} are not known`);
  const { stdout } = await run('perl', ['-e', ASK], { timeout: 10_000 }).catch((error: unknown) => {
    throw new EngineRefusal('Unavailable', `perl does not run on this machine: ${(error as Error).message}`);
  });
  const archive = pack();
  const paths = [...new Set(stdout.split('\n').filter((path) => path !== '' && !path.endsWith('locale-archive')))];
  const files = await Promise.all(
    paths.toSorted().map(async (path) => ({ name: nameOf(path), bytes: await readFile(path) })),
  );
  archive.entry({ name: 'lib', type: 'directory', mode: 0o755, mtime: new Date(0) });
  for (const { name, bytes } of files) archive.entry({ name, mode: 0o755, mtime: new Date(0) }, bytes);
  archive.entry({ name: 'box.pl', mode: 0o644, mtime: new Date(0) }, program);
  archive.entry({ name: WHOLE, mode: 0o444, mtime: new Date(0) }, '');
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { volume: `troupe-kit-${hash}`, archive: bytes };
}

function nameOf(path: string): string {
  const name = basename(path);
  if (name.startsWith('ld-') || name.startsWith('ld.')) return 'ld.so';
  return name.startsWith('perl') ? 'perl' : `lib/${name}`;
}

/** Puts the box runtime into its volume, if it is not there. `image` is any that the daemon has. Bounded by itself, as many may wait for it. */
export async function fillBoxRuntimeVolume(docker: Docker, runtime: BoxRuntimeVolume, image: string): Promise<void> {
  const signal = AbortSignal.timeout(FILL_MS);
  await docker.createVolume({ Name: runtime.volume, Labels: { [LABEL.runtime]: '1' }, abortSignal: signal });
  const filler = await onlyFiller(docker, runtime, image, signal);
  try {
    const whole = await found(filler.infoArchive({ path: `${BOX_RUNTIME_DIR}/${WHOLE}`, abortSignal: signal }));
    // It has no body, and holds its connection until that was read.
    whole?.resume();
    if (whole === undefined) await filler.putArchive(runtime.archive, { path: BOX_RUNTIME_DIR, abortSignal: signal });
  } finally {
    await filler.remove({ force: true, v: true });
  }
}

/** Waits until nobody else fills the volume; a filler that stays was left behind by a process that died. */
async function onlyFiller(
  docker: Docker,
  runtime: BoxRuntimeVolume,
  image: string,
  signal: AbortSignal,
): Promise<Container> {
  const name = `${runtime.volume}-filler`;
  for (let until = Date.now() + FILLED_MS; ;) {
    try {
      return await docker.createContainer({
        name,
        Image: image,
        Entrypoint: ['/none'],
        Cmd: [],
        Labels: { [LABEL.runtime]: '1' },
        NetworkDisabled: true,
        HostConfig: {
          Mounts: [{ Type: 'volume', Source: runtime.volume, Target: BOX_RUNTIME_DIR }],
          NetworkMode: 'none',
        },
        abortSignal: signal,
      });
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
    if (Date.now() > until) {
      await removeContainer(docker.getContainer(name), signal);
      until = Date.now() + FILLED_MS;
    } else await delay(LOOK_MS, undefined, { signal, ref: false });
  }
}
