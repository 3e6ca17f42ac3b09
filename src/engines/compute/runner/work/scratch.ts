/**
 * Owns the directories of live work: workspace, outputs, state, home and unpacked inputs, each owned by the work's user and
 * closed to everybody else. `real` is where they lie; `shown` is the same directory as the work's user can reach it.
 *
 * Making and removing empty directories touches memory and the disk's journal only, and costs a fifth of the asynchronous
 * way (which starts nine thread pool jobs), so that is done synchronously; everything that depends on the size of what work
 * left behind runs in a process of its own.
 */
import { chownSync, lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../process/tool.js';

export type Part = 'workspace' | 'outputs' | 'state' | 'home' | 'tmp' | 'inputs' | 'unpacked';

const ALWAYS: readonly Part[] = ['workspace', 'outputs', 'state', 'home'];

/** Beside the work's directories; no id begins with a dot. */
export const SYSTEM = '.system';

export class Scratch {
  private readonly real: string;
  private readonly shown: string;

  constructor(real: string, shown: string) {
    this.real = real;
    this.shown = shown;
  }

  /** Makes the directories of one piece of work. Throws when they exist: an id is used once. */
  make(id: string, hostId: number | undefined, more: readonly Part[]): void {
    mkdirSync(join(this.real, id), { mode: 0o711 });
    for (const part of [...ALWAYS, ...more]) {
      const path = join(this.real, id, part);
      mkdirSync(path, { mode: 0o700 });
      if (hostId !== undefined) this.own(path, hostId);
    }
  }

  own(path: string, hostId: number): void {
    chownSync(path, hostId, hostId);
  }

  /** Where the work's users find the prepared copy of the system's settings. */
  get shownSystem(): string {
    return join(this.shown, SYSTEM);
  }

  /** As the runner reaches it. */
  realPath(id: string, part: Part): string {
    return join(this.real, id, part);
  }

  /** As the work's user reaches it. */
  shownPath(id: string, part: Part): string {
    return join(this.shown, id, part);
  }

  /** What counts against the work's disk: all that it wrote or had unpacked, not the inputs that are only shown to it. */
  measured(id: string): string[] {
    return [...ALWAYS, 'tmp', 'unpacked'].map((part) => join(this.real, id, part));
  }

  /** Removes everything of one piece of work, also what it made hard to remove. Nothing of it may run any more. */
  async free(id: string): Promise<void> {
    const path = join(this.real, id);
    if (removedEmpty(path)) return;
    const remove = { file: 'rm', args: ['-rf', '--', path] };
    if ((await runTool(remove)).exitCode === 0) return;
    // Without root, a directory that the work closed to its owner stops rm.
    await runTool({ file: 'chmod', args: ['-R', 'u+rwX', '--', path] });
    const { exitCode, said } = await runTool(remove);
    if (exitCode !== 0) throw new Error(`cannot remove the scratch of ${id}: ${said}`);
  }

  /** Ids that have a scratch. */
  async ids(): Promise<string[]> {
    return (await readdir(this.real)).filter((name) => !name.startsWith('.'));
  }
}

function removedEmpty(path: string): boolean {
  try {
    for (const part of ALWAYS) rmdirSync(join(path, part));
    rmdirSync(path);
    return true;
  } catch {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  }
}
