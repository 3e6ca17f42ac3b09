/**
 * Makes control groups of the second version: one directory per piece of work, with `cgroup.kill` where the kernel has it.
 */
import { mkdir, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WorkLimits } from '../../engines/compute/contract/engine.js';
import { processesOfBox, type ProcessRoom } from '../../engines/compute/shared/process-share.js';
import { MemberFiles, OWN_PROCESSES, processorTime, removeEmptied, type Group, type Groups } from './groups.js';
import { counter, groupsUnder, PROCESS_LIST, processesOf, textOf, type Controller, writeWhereKnown } from './v1.js';

const makeDirectory = promisify(mkdir);

/** The same for all (`processorTime`). */
const LEAST_WEIGHT = 1;

/** `base`: our directory, in whose `cgroup.subtree_control` the given controllers are switched on. */
export function openV2(base: string, controllers: ReadonlySet<Controller>, room: ProcessRoom): Groups {
  return {
    enforced: { cpu: controllers.has('cpu'), memory: controllers.has('memory'), pids: controllers.has('pids') },
    create: (name, limits) => createGroup(join(base, name), controllers, limits, room),
    leftOver: () => groupsUnder(base),
    clear: (name) => removeEmptied([join(base, name)], () => killAll(join(base, name))),
    close: () => {
      try {
        rmdirSync(base);
      } catch {
        // Not empty, or not ours to remove.
      }
    },
  };
}

async function createGroup(
  path: string,
  controllers: ReadonlySet<Controller>,
  limits: WorkLimits,
  room: ProcessRoom,
): Promise<Group> {
  await makeDirectory(path);
  if (controllers.has('memory')) {
    write(path, 'memory.max', limits.memory);
    // Unknown where the kernel does not count swap.
    writeWhereKnown(path, 'memory.swap.max', 0);
  }
  if (controllers.has('cpu')) {
    const { quota, period } = processorTime(limits.milliCpu);
    write(path, 'cpu.max', `${quota} ${period}`);
    writeWhereKnown(path, 'cpu.max.burst', quota);
    write(path, 'cpu.weight', LEAST_WEIGHT);
  }
  if (controllers.has('pids')) write(path, 'pids.max', processesOfBox(limits, OWN_PROCESSES, room));
  const memberFiles = new MemberFiles([path], PROCESS_LIST);
  return {
    memberFiles: memberFiles.paths,
    openMemberFiles: () => memberFiles.open(),
    oomKills: () => counter(join(path, 'memory.events'), 'oom_kill'),
    activity: () => textOf(join(path, 'cpu.stat')),
    processList: join(path, PROCESS_LIST),
    destroy: async () => {
      memberFiles.close();
      await removeEmptied([path], () => killAll(path));
    },
  };
}

function killAll(path: string): void {
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1');
  } catch {
    for (const pid of processesOf([path])) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
  }
}

function write(path: string, file: string, value: number | string): void {
  writeFileSync(join(path, file), String(value));
}
