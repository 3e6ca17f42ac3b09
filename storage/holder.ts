/** Owns who a process is to others that share its data directory, and whether such a process still lives. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

export interface HolderProcess {
  readonly host: string;
  readonly pid: number;
  /** Start time as the kernel counts it, so that a reused pid is another process; empty where it is not told. */
  readonly started: string;
}

export function thisProcess(): HolderProcess {
  return { host: hostname(), pid: process.pid, started: startOf(process.pid)?.started ?? '' };
}

/**
 * True only when it is certain: same host, and no such process, or another one under its pid. A stopped process lives.
 * On another host nothing is certain.
 */
export function isDead(holder: HolderProcess): boolean {
  if (holder.host !== hostname()) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
  const now = startOf(holder.pid);
  if (now === undefined) return false;
  return now.state === 'Z' || (holder.started !== '' && now.started !== holder.started);
}

/** Fields 3 and 22 of /proc/<pid>/stat; undefined where there is no such file. */
function startOf(pid: number): { readonly state: string; readonly started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets, which may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

export function parseHolderProcess(text: string | null): HolderProcess | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { host, pid, started } = value as Partial<HolderProcess>;
    if (typeof host !== 'string' || typeof pid !== 'number' || typeof started !== 'string') return undefined;
    return { host, pid, started };
  } catch {
    return undefined;
  }
}
