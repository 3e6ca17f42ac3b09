/** Identifies a process to others that share its data directory, and finds out whether such a process still lives. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface HolderProcess {
  readonly host: string;
  /** Id of this boot of the machine. Two machines can have one host name. Empty where the kernel does not tell. */
  readonly boot: string;
  /** In which a pid means this process: two containers can have one host name. Empty where the kernel does not tell. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** Start time as the kernel counts it, so that a reused pid is another process; empty where the kernel does not say. */
  readonly started: string;
}

export function thisProcess(): HolderProcess {
  return { ...here(), pid: process.pid, started: startOf(process.pid)?.started ?? '' };
}

/** Where this process looks from: pids are comparable between processes for which all of this is the same. */
function here(): Pick<HolderProcess, 'host' | 'boot' | 'pidNamespace'> {
  return {
    host: hostname(),
    boot: readOrEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    // `pid:[4026531836]`: the inode of the namespace.
    pidNamespace: readOrEmpty(() => readlinkSync('/proc/self/ns/pid')),
  };
}

function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/**
 * True only when it is certain: same host, boot and pid namespace, and no such process, or another one under its pid. A
 * stopped process lives. From elsewhere nothing is certain.
 */
export function isDead(holder: HolderProcess): boolean {
  const { host, boot, pidNamespace } = here();
  if (holder.host !== host || holder.boot !== boot || holder.pidNamespace !== pidNamespace) return false;
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
    // Absent in what an earlier version wrote: then nothing is certain about it.
    const { host, boot = '', pidNamespace = '', pid, started } = value as Partial<HolderProcess>;
    if (typeof host !== 'string' || typeof pid !== 'number' || typeof started !== 'string') return undefined;
    if (typeof boot !== 'string' || typeof pidNamespace !== 'string') return undefined;
    return { host, boot, pidNamespace, pid, started };
  } catch {
    return undefined;
  }
}
