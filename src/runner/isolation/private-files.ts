/**
 * Makes the boxes' own copies of the few files that every process maps: the loader, the C library, the shell, and the interpreter of
 * the agent with its libraries.
 *
 * The kernel keeps who maps a file under one lock of that file, which every fork and every end of a process takes. Boxes that show
 * the same file share that lock: work that forks without end holds it while its hundreds of processes wait for their turns, and
 * a command of the neighbour waits with them (ten times and more of what it takes alone). With a copy each they have nothing in common.
 *
 * A copy belongs to a place (`../work/scratch.ts`) by its number, nobody writes to it, and it is made when the place is first used. Bound
 * (I10): `count` copies of some 7 MB; of more boxes than that, those whose numbers differ by a multiple of it share one. What is not
 * among the files (other interpreters) is shared as ever, and the agents of a zygote share its own, with nothing that work executes.
 */
import { constants, realpathSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runTool } from '../../engines/compute/shared/tool.js';
import type { Mount } from './isolation.js';
import { shownAt } from './system.js';

/** A file of the machine, and where boxes see it. */
interface Shown {
  readonly source: string;
  readonly targets: readonly string[];
}

export interface PrivateFilesSettings {
  /** Directory of the copies, and the same as boxes' users reach it. */
  readonly real: string;
  readonly shown: string;
  /** 0: none, all boxes share the machine's files. */
  readonly count: number;
}

export class PrivateFiles {
  private readonly settings: PrivateFilesSettings;
  private readonly list: () => Promise<readonly Shown[]>;
  private readonly report: (line: string) => void;
  private files: readonly Shown[] = [];
  /** Of the files as they were copied. */
  private stamp: string | undefined;
  private listed: Promise<readonly Shown[]> = Promise.resolve([]);
  private made: (Promise<readonly Mount[]> | undefined)[] = [];

  /** `system`: the machine's mounts in boxes. `perl`: that of the agent; without one there is nothing to copy. */
  constructor(
    settings: PrivateFilesSettings,
    system: readonly Mount[],
    perl: string | undefined,
    report: (line: string) => void,
  ) {
    this.settings = settings;
    this.list = async () => {
      const sources = settings.count === 0 || perl === undefined ? [] : await filesOf(perl);
      return sources
        .map((source) => ({ source, targets: shownAt(source, system) }))
        .filter(({ targets }) => targets.length > 0);
    };
    this.report = report;
  }

  /**
   * Mounts that hide the machine's files behind the copies of the place with this number; where these could not be made none, until the
   * next runner.
   */
  of(number: number): Promise<readonly Mount[]> {
    // The machine's files are replaced when it is updated, all of what belongs together; boxes that live keep what they have.
    const stamp = stampOf(this.files);
    if (stamp !== this.stamp) {
      this.made = [];
      this.listed = this.list().then((files) => {
        this.files = files;
        this.stamp = stampOf(files);
        return files;
      });
      this.stamp = stamp;
    }
    const slot = number % Math.max(1, this.settings.count);
    return (this.made[slot] ??= this.make(String(slot)).catch((error: unknown) => {
      this.report(`boxes share the machine's C library: no copy was made: ${(error as Error).message}`);
      return [];
    }));
  }

  private async make(slot: string): Promise<readonly Mount[]> {
    const files = await this.listed;
    if (files.length === 0) return [];
    const directory = join(this.settings.real, slot);
    await mkdir(directory, { recursive: true, mode: 0o755 });
    // Whatever the umask that this process was started with.
    for (const path of [this.settings.real, directory]) await chmod(path, 0o755);
    const wanted = new Set(files.map(({ source }) => basename(source)));
    for (const name of await readdir(directory)) if (!wanted.has(name)) await rm(join(directory, name));
    for (const { source } of files) await copyOnce(source, join(directory, basename(source)));
    return files.flatMap(({ source, targets }) =>
      targets.map((target) => ({ source: join(this.settings.shown, slot, basename(source)), target, readOnly: true })),
    );
  }
}

/** Synchronously: they are in the kernel's memory, and it happens for each box. */
function stampOf(files: readonly Shown[]): string {
  return files
    .map(({ source }) => {
      const found = statSync(source, { throwIfNoEntry: false });
      return `${found?.ino}:${found?.size}:${found?.mtimeMs}`;
    })
    .join();
}

/** A copy whose size and time are the original's was made whole: its time is set last. */
async function copyOnce(source: string, copy: string): Promise<void> {
  const [original, found] = await Promise.all([stat(source), stat(copy).catch(() => undefined)]);
  // To the second: file systems differ in what they keep below it.
  const time = Math.floor(original.mtimeMs / 1000);
  if (found?.size === original.size && Math.floor(found.mtimeMs / 1000) === time) return;
  const half = `${copy}.new`;
  await copyFile(source, half, constants.COPYFILE_FICLONE);
  await chmod(half, 0o755);
  await utimes(half, time, time);
  await rename(half, copy);
}

/** What the interpreter of the agent maps, and the shell. */
async function filesOf(perl: string): Promise<readonly string[]> {
  const program = 'open my $maps, "<", "/proc/self/maps" or die; print <$maps>';
  const { exitCode, stdout } = await runTool({ file: perl, args: ['-e', program] });
  return exitCode === 0 ? [...new Set([...mapped(stdout), realpathSync('/bin/sh')])] : [];
}

/** Paths of the files of which parts are executable, from the kernel's list of a process's mappings. */
export function mapped(maps: string): readonly string[] {
  const paths = maps.split('\n').flatMap((line) => /^\S+ ..x. \S+ \S+ [1-9]\d* +(\/.*)$/.exec(line)?.[1] ?? []);
  return [...new Set(paths)];
}
