/**
 * Reads `postmaster.pid`, in which a running Postgres writes its process id, its port, and whether it is ready.
 */
import { readFileSync, statSync } from 'node:fs';
import { kill } from 'node:process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly phase: 'Starting' | 'Ready' | 'Stopping';
}

/** What the file says; undefined when there is none, or none yet that is complete. */
export const readPidFile = async (directory: string): Promise<Postmaster | undefined> => {
  return parse(await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => ''));
};

/** The same for the last moment of a process, in which nothing can be waited for. */
export const readPidFileSync = (directory: string): Postmaster | undefined => {
  try {
    return parse(readFileSync(join(directory, 'postmaster.pid'), 'utf8'));
  } catch {
    return undefined;
  }
};

const parse = (text: string): Postmaster | undefined => {
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const word = lines[7]?.trim();
  const phase = word === 'ready' || word === 'standby' ? 'Ready' : word === 'stopping' ? 'Stopping' : 'Starting';
  return { pid, port: Number(lines[3] ?? 0), phase };
};

export const isAlive = (pid: number): boolean => {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/**
 * Whether that process is a Postgres on this directory, and not another one that was given an old number (as happens
 * at once when a container is started again). Where there is no /proc, a living process counts.
 */
export const isPostmaster = async (pid: number, directory: string): Promise<boolean> => {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  const [there, here] = await Promise.all([
    stat(`/proc/${pid}/cwd`).catch(() => undefined),
    stat(directory).catch(() => undefined),
  ]);
  return there !== undefined && here !== undefined && there.ino === here.ino && there.dev === here.dev;
};

/** The same for the last moment of a process. */
export const isPostmasterSync = (pid: number, directory: string): boolean => {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    const [there, here] = [statSync(`/proc/${pid}/cwd`), statSync(directory)];
    return there.ino === here.ino && there.dev === here.dev;
  } catch {
    return false;
  }
};
