/**
 * Where a runner keeps its files. Two roots: `runnerDir` (on a disk, part of the service's data) and `runtimeDir`
 * (short, on a traversable path: the socket, the pipes and, as root, the mount point of the scratch). Pure but for `claimDirectory`.
 */
import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** In the scratch, beside the places, which are numbers. */
export const SYSTEM = '.system';
export const PRIVATE = '.private';

/** Files of one runner. */
export interface Layout {
  readonly lock: string;
  readonly output: string;
  readonly journal: string;
  readonly logs: string;
  readonly outputs: string;
  readonly scratch: string;
  readonly system: string;
  /** Boxes' own copies of what every process maps. */
  readonly privateFiles: string;
  readonly socketDir: string;
  readonly socket: string;
  readonly pipes: string;
  /** Of the service, for the socket of the attempt API; shown inside work. */
  readonly api: string;
  /** Program of the proxy process. */
  readonly proxy: string;
  /** Programs of the agents of boxes and of what makes these, and the sockets of all. */
  readonly agent: string;
  readonly zygote: string;
  readonly agents: string;
  /** Where the scratch is mounted again for users who may not enter `runnerDir`. */
  readonly scratchMount: string;
}

export function layoutOf(runnerDir: string, runtimeDir: string): Layout {
  return {
    lock: join(runnerDir, 'lock'),
    output: join(runnerDir, 'runner.log'),
    journal: join(runnerDir, 'journal.jsonl'),
    logs: join(runnerDir, 'logs'),
    outputs: join(runnerDir, 'outputs'),
    scratch: join(runnerDir, 'scratch'),
    system: join(runnerDir, 'scratch', SYSTEM),
    privateFiles: join(runnerDir, 'scratch', PRIVATE),
    socketDir: join(runtimeDir, 'socket'),
    socket: join(runtimeDir, 'socket', 'runner'),
    pipes: join(runtimeDir, 'pipes'),
    api: join(runtimeDir, 'api'),
    proxy: join(runtimeDir, 'proxy.mjs'),
    agent: join(runtimeDir, 'agent'),
    zygote: join(runtimeDir, 'zygote'),
    agents: join(runtimeDir, 'agents'),
    scratchMount: join(runtimeDir, 'scratch'),
  };
}

/** Eight hex digits that stand for this cluster's runner on this machine; two data directories never share one. */
export function runnerIdOf(clusterId: string, runnerDir: string): string {
  return createHash('sha256').update(`${clusterId}\0${runnerDir}`).digest('hex').slice(0, 8);
}

/** The parent of the runtime directories of all runners of this user. */
export function runtimeRoot(uid: number, xdgRuntimeDir: string | undefined): string {
  if (uid === 0) return '/run/troupe';
  return xdgRuntimeDir?.startsWith('/') === true ? join(xdgRuntimeDir, 'troupe') : `/tmp/troupe-${uid}`;
}

/**
 * Makes a directory, or takes one that is ours already. Throws when another user made it, or may write into it: under
 * /tmp any user could have been there first.
 */
export function claimDirectory(path: string, mode: number, uid: number): void {
  try {
    mkdirSync(path, { mode });
    if (uid !== process.getuid?.()) chownSync(path, uid, uid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw new Error(`${path} belongs to another user or is writable by others; remove it, then start again`);
  }
}

/** Ids and names become file names, so their form is checked at the border and relied on behind it. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name);
}
