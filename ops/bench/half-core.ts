/**
 * Gives a program half a core: a control group with a quota of processor time, and the weight that programs have by default, so that
 * it has its half also while the machine is busy. Only that quota counts here; memory and processes are bounded by the way.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { probeGroups } from '../../src/runner/limits/probe.js';

export const HALF_CORE_MILLI = 500;
const LIMITS = { milliCpu: HALF_CORE_MILLI, memory: 2 * 2 ** 30, disk: 0, logBytes: 0, pids: 256 };
/** The weight of a group that nobody has set, in each version. */
const DEFAULT_WEIGHTS = { 'cpu.shares': '1024', 'cpu.weight': '100' };

export interface HalfCore {
  /** Starts a program of this build, with a channel for messages. It ends with `close` at the latest. */
  start(program: URL): ChildProcess;
  close(): Promise<void>;
}

/** Throws where this machine lets us bound the processor time of nobody. */
export async function openHalfCore(): Promise<HalfCore> {
  const groups = probeGroups(`troupe-bench-${process.pid}`, process.getuid?.() ?? 0, totalmem());
  if (!groups.enforced.cpu) {
    throw new Error('no control group for processor time may be written here (neither version): run this part as root');
  }
  const group = await groups.create('attacker', LIMITS);
  const directories = group.memberFiles.map((memberFile) => dirname(memberFile));
  for (const [file, weight] of Object.entries(DEFAULT_WEIGHTS)) {
    for (const directory of directories) {
      try {
        writeFileSync(join(directory, file), weight, { flag: 'r+' });
      } catch {
        // The file of the other version, or of another controller.
      }
    }
  }
  return {
    start(program) {
      // A shell enters by itself, before the program has threads that would stay outside.
      const enter = 'for file in $MEMBER_FILES; do echo 0 >"$file" || exit 1; done; exec "$@"';
      return spawn('/bin/sh', ['-c', enter, 'sh', process.execPath, fileURLToPath(program)], {
        env: { ...process.env, MEMBER_FILES: group.memberFiles.join(' ') },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
    },
    async close() {
      await group.destroy();
      groups.close();
    },
  };
}
