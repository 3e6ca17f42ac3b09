/**
 * What a control group is to the rest of the runner: it bounds the memory, processor time and number of
 * processes of one piece of work, and proves that nothing of it runs any more. `v1.ts` and `v2.ts` make them; `probe.ts`
 * finds out what this machine lets us have. Where it is nothing, `noGroups` keeps the same shape and enforces nothing.
 */
import { closeSync, openSync, rmdir } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { WorkLimits } from '../../engines/compute/contract/engine.js';
import { GONE_MS } from '../process/tree.js';

const removeDirectory = promisify(rmdir);

export interface Group {
  /** Files of the groups (`cgroup.procs`): a process that writes `0` into each is inside. At most three. */
  readonly memberFiles: readonly string[];
  /** The same, open until the group is destroyed. */
  openMemberFiles(): readonly number[];
  /** How often the kernel killed something here for want of memory. */
  oomKills(): number;
  /** Another text once something in it has used the processor for a moment (v1 counts from a millisecond on); undefined: nobody counts. */
  activity(): string | undefined;
  /** A file of the kernel with the host ids of the processes inside, a line each; undefined: nobody counts them. */
  readonly processList: string | undefined;
  /** Kills what is left and removes the group; resolves when nothing of it runs. Throws after `GONE_MS`. */
  destroy(): Promise<void>;
}

export interface Groups {
  readonly enforced: Readonly<Record<'cpu' | 'memory' | 'pids', boolean>>;
  create(name: string, limits: WorkLimits): Promise<Group>;
  /** Groups that exist under our base: those of a runner that died. */
  leftOver(): string[];
  /** Kills and removes one of those. */
  clear(name: string): Promise<void>;
  /** Removes the base; only when nothing is left under it. */
  close(): void;
}

/**
 * Bounds of processor time, in microseconds: `quota` in each `period`.
 *
 * Work that wants the whole machine has it for its part of a period, and others wait that long: a neighbour's command came after 60 ms with
 * the kernel's own period of 100 ms, and after 20 with this. A quota that was not used may be had on top of the next (the burst), so that a
 * start or a brief command of work with a small share does not wait for periods to pass.
 *
 * The quota alone says what work gets. Weights are equal, and the least there is, so that they stay what they are: else the kernel weighs a
 * group anew on each processor whenever a process comes or goes there, and forgets each time what the group has had too much; so a fork
 * bomb was served before a neighbour that had waited for 80 ms.
 */
export function processorTime(milliCpu: number): { readonly quota: number; readonly period: number } {
  const period = milliCpu < (1000 * LEAST_QUOTA_US) / PERIOD_US ? LONG_PERIOD_US : PERIOD_US;
  return { quota: Math.max(LEAST_QUOTA_US, Math.round((milliCpu / 1000) * period)), period };
}

const PERIOD_US = 20_000;
/** The kernel takes no smaller one, so that the smallest shares need a longer period. */
const LEAST_QUOTA_US = 1_000;
const LONG_PERIOD_US = 100_000;

/** Processes that belong to the isolation itself and do not count against the work's number. */
export const OWN_PROCESSES = 4;

/** Opened when they are first wanted: a zygote's child opens its own. */
export class MemberFiles {
  readonly paths: readonly string[];
  private opened: readonly number[] | undefined;

  /** `file`: into which who enters writes 0. */
  constructor(groups: readonly string[], file: string) {
    this.paths = groups.map((path) => join(path, file));
  }

  open(): readonly number[] {
    return (this.opened ??= this.paths.map((path) => openSync(path, 'w')));
  }

  close(): void {
    for (const memberFile of this.opened ?? []) closeSync(memberFile);
    this.opened = [];
  }
}

/** Removes group directories, killing what is in them; a directory that can be removed proves that it is empty. */
export async function removeEmptied(paths: readonly string[], kill: () => void): Promise<void> {
  const started = Date.now();
  let left = paths;
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    // Asynchronously: the kernel removes a group only after everybody else has looked away, which takes its time when it is busy.
    const gone = await Promise.all(left.map(removed));
    left = left.filter((_, index) => gone[index] !== true);
    if (left.length === 0) return;
    kill();
    if (Date.now() - started > GONE_MS) throw new Error(`processes do not end: ${left.join(', ')}`);
    await delay(wait);
  }
}

async function removed(path: string): Promise<boolean> {
  try {
    await removeDirectory(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false;
    throw error;
  }
}

/** Used where no control group is writable: rlimits (see `isolation`) are all there is. */
export const noGroups: Groups = {
  enforced: { cpu: false, memory: false, pids: false },
  create: () =>
    Promise.resolve({
      memberFiles: [],
      openMemberFiles: () => [],
      oomKills: () => 0,
      activity: () => undefined,
      processList: undefined,
      destroy: () => Promise.resolve(),
    }),
  leftOver: () => [],
  clear: () => Promise.resolve(),
  close: () => undefined,
};
