/**
 * Shares out the machine's process ids, of which every process and thread takes one, and which boxes, the service, Postgres and the machine
 * draw from one table. All boxes together leave a reserve to the others, and each box has the part of the rest that its memory is of the
 * machine's: boxes that fit into the machine by memory fit by processes as well, but for those of the least that a box has. Pure, but for
 * `machineProcesses`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkLimits } from '../contract/engine.js';

/** What all boxes of a machine may take, and what it is shared out by. */
export interface ProcessRoom {
  /** Processes and threads of all boxes together; undefined: not known. */
  readonly processes: number | undefined;
  /** Bytes of the whole machine. */
  readonly memory: number;
}

/**
 * A box has at least so many, its isolation's own among them: a shell, an interpreter with its threads, a few commands; and more where MOST_BOXES
 * such boxes leave room for it.
 */
export const LEAST_PROCESSES = 64;
const LEAST_WITH_ROOM = 256;
const MOST_BOXES = 512;
/** Of the table, for all that is no box. */
const RESERVE = 1 / 4;
const LEAST_RESERVE = 1_024;
/** Of a small table, however large the least reserve is. */
const MOST_RESERVE = 1 / 2;

/** `own`: the isolation's own processes, which do not count against the order's number. */
export function processesOfBox(limits: WorkLimits, own: number, { processes, memory }: ProcessRoom): number {
  const most = limits.pids + own;
  if (processes === undefined) return most;
  // Work that states no memory may use more than the Node counts for it: only what is counted adds up to the machine's.
  const part = Math.min(1, (limits.countedMemory ?? limits.memory) / memory);
  return Math.min(most, Math.max(leastOf(processes), Math.floor(processes * part)));
}

/** Of so many for all boxes. */
export function leastOf(processes: number): number {
  return Math.max(LEAST_PROCESSES, Math.min(LEAST_WITH_ROOM, Math.floor(processes / MOST_BOXES)));
}

/** Of bounds that hold for the whole machine, what boxes may have. Undefined when none is known. */
export function roomWithin(bounds: readonly number[]): number | undefined {
  const table = Math.min(...bounds.filter((bound) => bound > 0));
  if (!Number.isFinite(table)) return undefined;
  const reserve = Math.min(table * MOST_RESERVE, Math.max(table * RESERVE, LEAST_RESERVE));
  return Math.floor(table - reserve);
}

/** How many process ids there are, and how many processes and threads the kernel lets begin. What cannot be read is left out. */
export function machineProcesses(directory = '/proc/sys/kernel'): number[] {
  return ['pid_max', 'threads-max'].flatMap((name) => {
    const number = numberIn(join(directory, name));
    return number === undefined ? [] : [number];
  });
}

/** Undefined when there is no such file, or no number in it (`max`). */
export function numberIn(file: string): number | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return /^\d+$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}
