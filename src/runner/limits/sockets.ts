/**
 * Bounds the kernel memory that a box takes by what its netlink sockets have not read. No control group counts it: a socket holds 200 KiB of
 * the kernel's replies, and a process has thousands of sockets. What waits in other sockets is counted (`v1.ts` says how).
 *
 * The bound is kept by looking, once a second, at boxes of which something has run and that have many sockets. A box can overshoot for the
 * second between two looks.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { textOf } from './v1.js';

export interface SocketHolder {
  /** The same for the same piece of work. */
  readonly work: object;
  /** Host id of the first process of its box, whose network namespace is looked at; undefined while there is none. */
  readonly firstProcess: number | undefined;
  /** Another one once something of it has run; undefined: not known. */
  activity(): string | undefined;
  /** The box holds more than it may; `what` says how much, for a sentence. */
  exceeded(what: string): void;
}

const PAUSE_MS = 1_000;
/** A box with fewer sockets cannot exceed the bound, and its table is not read: it lists the sockets of the whole machine. */
const FEW_SOCKETS = 128;
/** Bytes; some hundred sockets whose owner reads nothing. */
export const MOST_NETLINK_BYTES = 32 * 2 ** 20;

export async function watchSockets(live: () => readonly SocketHolder[], signal: AbortSignal): Promise<void> {
  const last = new WeakMap<object, string>();
  while (!signal.aborted) {
    for (const holder of live()) {
      const activity = holder.activity();
      if (activity !== undefined && last.get(holder.work) === activity) continue;
      if (activity !== undefined) last.set(holder.work, activity);
      const bytes = await netlinkBytes(holder.firstProcess);
      if (bytes > MOST_NETLINK_BYTES)
        holder.exceeded(
          `hold ${bytes} bytes of the kernel's memory, more than the ${MOST_NETLINK_BYTES} that they may`,
        );
    }
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function netlinkBytes(pid: number | undefined): Promise<number> {
  if (pid === undefined) return 0;
  const counts = textOf(`/proc/${pid}/net/sockstat`);
  if (Number(/^sockets: used (\d+)$/m.exec(counts ?? '')?.[1] ?? 0) <= FEW_SOCKETS) return 0;
  return sumOfQueues(await readFile(`/proc/${pid}/net/netlink`, 'latin1').catch(() => ''));
}

/** The sum of what is queued in both directions, of the text of `/proc/PID/net/netlink`. */
export function sumOfQueues(table: string): number {
  let sum = 0;
  // sk, protocol, pid, groups, bytes received, bytes sent, …
  for (const [, received, sent] of table.matchAll(/^[0-9a-f]+ +\d+ +\d+ +[0-9a-f]+ +(\d+) +(\d+) /gm)) {
    sum += Number(received) + Number(sent);
  }
  return sum;
}
