/**
 * Measures what other programs used of the machine meanwhile. A figure that was
 * taken beside a busy neighbour says little, so the share is shown and kept with each part.
 */
import { readFile } from 'node:fs/promises';

/** Seconds of processor time of the whole machine, and of this process with all children that have ended. */
export interface MachineTime {
  readonly busy: number;
  readonly all: number;
  readonly ours: number;
}

/** Clock ticks of /proc, in one second: fixed at 100 on Linux. */
const TICKS = 100;

export async function machineTime(): Promise<MachineTime> {
  const line = (await readFile('/proc/stat', 'utf8')).split('\n', 1)[0] ?? '';
  // user, nice, system, idle, waiting for disks, two kinds of interrupts, taken by the host.
  const [user = 0, nice = 0, system = 0, idle = 0, disks = 0, hard = 0, soft = 0, host = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const busy = user + nice + system + hard + soft + host;
  const own = (await readFile('/proc/self/stat', 'utf8')).split(') ')[1]?.split(' ').slice(11, 15).map(Number) ?? [];
  const ours = own.reduce((sum, ticks) => sum + ticks, 0);
  return { busy: busy / TICKS, all: (busy + idle + disks) / TICKS, ours: ours / TICKS };
}

/** Percent of the machine that others used from `before` to `after`; `work` is time of ours that outlived its parent (s). */
export function othersPercent(before: MachineTime, after: MachineTime, work: number): number {
  const others = after.busy - before.busy - (after.ours - before.ours) - work;
  return Math.max(0, Math.round((others / (after.all - before.all)) * 100));
}
