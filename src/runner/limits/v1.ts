/**
 * Makes control groups of the first version: one directory per controller and piece of work. Files here are the kernel's,
 * never a disk's, so they are read and written synchronously (some ten microseconds each).
 */
import { mkdir, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WorkLimits } from '../../engines/compute/contract/engine.js';
import { processesOfBox, type ProcessRoom } from '../../engines/compute/shared/process-share.js';
import { MemberFiles, OWN_PROCESSES, processorTime, removeEmptied, type Group, type Groups } from './groups.js';

const makeDirectory = promisify(mkdir);

/** The same for all (`processorTime`). */
const LEAST_SHARES = 2;

/** Of the memory limit, on top of it, for what waits in sockets; a connection with a fast peer far away holds up to six MiB. */
const SOCKET_SHARE = 0.25;
const LEAST_SOCKET_BYTES = 16 * 2 ** 20;

/** In every group, of either version. */
export const PROCESS_LIST = 'cgroup.procs';

export type Controller = 'memory' | 'cpu' | 'pids';

/** `bases`: our directory in each controller's tree; controllers that we may not use are absent. */
export function openV1(bases: ReadonlyMap<Controller, string>, room: ProcessRoom): Groups {
  const roots = [...bases.values()];
  return {
    enforced: { cpu: bases.has('cpu'), memory: bases.has('memory'), pids: bases.has('pids') },
    create: (name, limits) => createGroup(bases, name, limits, room),
    leftOver: () => [...new Set(roots.flatMap((root) => groupsUnder(root)))],
    clear: (name) => {
      const paths = roots.map((root) => join(root, name));
      return removeEmptied(paths, () => killAll(paths));
    },
    close: () => {
      for (const root of roots) {
        try {
          rmdirSync(root);
        } catch {
          // Not empty: another start has begun meanwhile, or it was never made.
        }
      }
    },
  };
}

async function createGroup(
  bases: ReadonlyMap<Controller, string>,
  name: string,
  limits: WorkLimits,
  room: ProcessRoom,
): Promise<Group> {
  const paths = [...bases.values()].map((base) => join(base, name));
  // By `cgroup.procs` the kernel waits until no process of the whole machine is in the middle of a fork, and lets none begin or end one
  // meanwhile: beside a bomb of processes that stops everybody for tenths of a second. A thread that enters by itself waits for nobody.
  const memberFiles = new MemberFiles(paths, 'tasks');
  // The one step that can wait for others: a group is made under a lock that is held while processes enter groups.
  await Promise.all(paths.map((path) => makeDirectory(path)));
  for (const [controller, base] of bases) {
    const path = join(base, name);
    if (controller === 'memory') setMemory(path, limits.memory);
    if (controller === 'cpu') {
      const { quota, period } = processorTime(limits.milliCpu);
      write(path, 'cpu.cfs_period_us', period);
      write(path, 'cpu.cfs_quota_us', quota);
      writeWhereKnown(path, 'cpu.cfs_burst_us', quota);
      write(path, 'cpu.shares', LEAST_SHARES);
    }
    if (controller === 'pids') write(path, 'pids.max', processesOfBox(limits, OWN_PROCESSES, room));
  }
  const [memory, cpu] = [bases.get('memory'), bases.get('cpu')];
  return {
    memberFiles: memberFiles.paths,
    openMemberFiles: () => memberFiles.open(),
    oomKills: () => (memory === undefined ? 0 : counter(join(memory, name, 'memory.oom_control'), 'oom_kill')),
    activity: () => (cpu === undefined ? undefined : textOf(join(cpu, name, 'cpu.stat'))),
    processList: paths[0] === undefined ? undefined : join(paths[0], PROCESS_LIST),
    destroy: async () => {
      memberFiles.close();
      await removeEmptied(paths, () => killAll(paths));
    },
  };
}

function setMemory(path: string, bytes: number): void {
  write(path, 'memory.limit_in_bytes', bytes);
  // Memory and swap together: swap is no extra room. Unknown where the kernel does not count swap.
  writeWhereKnown(path, 'memory.memsw.limit_in_bytes', bytes);
  // Counted apart by this version, and not at all without a limit: what waits unread in sockets of TCP and UDP.
  writeWhereKnown(
    path,
    'memory.kmem.tcp.limit_in_bytes',
    Math.max(LEAST_SOCKET_BYTES, Math.floor(bytes * SOCKET_SHARE)),
  );
}

export function processesOf(paths: readonly string[]): number[] {
  for (const path of paths) {
    try {
      return readFileSync(join(path, PROCESS_LIST), 'utf8').split('\n').filter(Boolean).map(Number);
    } catch {
      // Removed already in this tree.
    }
  }
  return [];
}

function killAll(paths: readonly string[]): void {
  for (const pid of paths.flatMap((path) => processesOf([path]))) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

export function groupsUnder(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** Undefined when it cannot be read. */
export function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

export function counter(file: string, name: string): number {
  const line = textOf(file)
    ?.split('\n')
    .find((text) => text.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

function write(path: string, file: string, value: number): void {
  writeFileSync(join(path, file), String(value));
}

/** Nothing where the kernel has no such file. */
export function writeWhereKnown(path: string, file: string, value: number): void {
  try {
    writeFileSync(join(path, file), String(value));
  } catch {
    // An older kernel.
  }
}
