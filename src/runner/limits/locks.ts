/**
 * Bounds the locks of files (`fcntl`, `flock`) that a box holds: each is some 200 bytes of the kernel's memory, which no control group counts
 * and no limit of a process bounds.
 *
 * The bound is kept by looking at the kernel's list, every few seconds. To go on in that list the kernel walks from its beginning, with a
 * lock for which every program waits that locks a file, so its cost grows with the square of what is read. Therefore only the beginning is read
 * (MOST_READ), in which the newest locks stand, and the next look waits the longer the more this one took. A box can overshoot meanwhile.
 *
 * Whose a lock is, its process says, whose namespace of process ids is the box's. Some name none that is alive: locks of open file
 * descriptions, and those of a process that has left its files to another. These count for who has the file open.
 */
import { open, readdir, readlink, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

export interface LockHolder {
  /** Host id of the first process of its box; undefined while there is none. */
  readonly firstProcess: number | undefined;
  /** Host ids. */
  processes(): readonly number[];
  /** The box holds more than it may; `what` says how many, for a sentence. */
  exceeded(what: string): void;
}

const PAUSE_MS = 2_000;
/** Pause in relation to the time that a look took. */
const REST = 10;
/** Of a box. A database or a file server that is busy has some hundred. */
export const MOST_LOCKS = 10_000;
/** Lines of one look: a tenth of a second, where all of them are there. */
export const MOST_READ = 30_000;
/** Where so many are read that the rest is not known, the box with the most of them is ended, if it has as many as these. */
export const MOST_IN_CROWD = 1_000;
/** I10. Open files of a box that are looked at, when it is asked who has one open. */
const MOST_OPEN = 20_000;
/** Of processes that are alive and not the runner's to look at. */
const UNKNOWN = '';
/** The kernel gives a page at a time. */
const PAGE = 4_096;

/** Locks by process id and inode. */
export type LockTable = ReadonlyMap<number, ReadonlyMap<string, number>>;

export async function watchLocks(live: () => readonly LockHolder[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const began = Date.now();
    // Not known here, or a box that ends meanwhile: the next look sees more.
    await look(live).catch(() => undefined);
    const rest = Math.max(PAUSE_MS, (Date.now() - began) * REST);
    await delay(rest, undefined, { signal }).catch(() => undefined);
  }
}

async function look(live: () => readonly LockHolder[]): Promise<void> {
  const { table, total } = await readLocks('/proc/locks');
  if (total <= MOST_LOCKS) return;
  const holders = live();
  const held = await shareOut(table, holders, { namespaceOf, openFiles });
  for (const index of tooMany(held, total >= MOST_READ)) {
    const count = held[index] ?? 0;
    const than =
      count > MOST_LOCKS ? `more than the ${MOST_LOCKS} that they may be` : 'the most of very many on this machine';
    holders[index]?.exceeded(`are ${count}, ${than}`);
  }
}

/** Places in `held` of those who have too many. `crowd`: there are more locks than were read. */
export function tooMany(held: readonly number[], crowd: boolean): number[] {
  const above = held.flatMap((count, index) => (count > MOST_LOCKS ? [index] : []));
  if (above.length > 0 || !crowd) return above;
  const most = Math.max(...held);
  return most >= MOST_IN_CROWD ? [held.indexOf(most)] : [];
}

/** The beginning of the kernel's list, page by page. */
export async function readLocks(file: string, most = MOST_READ): Promise<{ table: LockTable; total: number }> {
  const table = new Map<number, Map<string, number>>();
  const list = await open(file, 'r');
  try {
    const page = Buffer.allocUnsafe(PAGE);
    let total = 0;
    let cut = '';
    while (total < most) {
      const { bytesRead } = await list.read(page, 0, PAGE, null);
      if (bytesRead === 0) break;
      const lines = (cut + page.toString('latin1', 0, bytesRead)).split('\n');
      cut = lines.pop() ?? '';
      for (const line of lines) {
        // 7: POSIX  ADVISORY  WRITE 4711 fd:01:1234 0 EOF; one that waits has an arrow behind its number.
        const [, pid, inode] = /^\d+: +(?:-> *)?\S+ +\S+ +\S+ +(-?\d+) +[^: ]+:[^: ]+:(\d+) /.exec(line) ?? [];
        if (pid === undefined || inode === undefined) continue;
        total++;
        const files = table.get(Number(pid)) ?? new Map<string, number>();
        table.set(Number(pid), files.set(inode, (files.get(inode) ?? 0) + 1));
      }
    }
    return { table, total };
  } finally {
    await list.close();
  }
}

export interface WhoseDeps {
  /** Of a process id; UNKNOWN where the runner may not look; undefined when nothing of that id is alive. */
  namespaceOf(pid: number): Promise<string | undefined>;
  /** Inodes of the files that a process of the box has open, or some of them; none where that cannot be seen. */
  openFiles(holder: LockHolder): Promise<ReadonlySet<string>>;
}

/** How many locks each of them holds. */
export async function shareOut(table: LockTable, holders: readonly LockHolder[], deps: WhoseDeps): Promise<number[]> {
  const held = holders.map(() => 0);
  const boxes = new Map<string, number>();
  for (const [index, { firstProcess }] of holders.entries()) {
    const namespace = firstProcess === undefined ? undefined : await deps.namespaceOf(firstProcess);
    if (namespace !== undefined && namespace !== UNKNOWN) boxes.set(namespace, index);
  }
  const nobodys = new Map<string, number>();
  const own = holders.map(() => new Set<string>());
  for (const [pid, files] of table) {
    const namespace = pid > 0 ? await deps.namespaceOf(pid) : undefined;
    const index = namespace === undefined ? undefined : boxes.get(namespace);
    for (const [inode, count] of files) {
      if (index !== undefined) {
        held[index] = (held[index] ?? 0) + count;
        own[index]?.add(inode);
      } else if (namespace === undefined) nobodys.set(inode, (nobodys.get(inode) ?? 0) + count);
    }
  }
  for (const [index, holder] of holders.entries()) {
    if ((held[index] ?? 0) < MOST_IN_CROWD) continue;
    // The process that they name may be gone, and have left its id to one of another box, which has none of these files.
    const files = await deps.openFiles(holder);
    if (files.size > 0 && ![...(own[index] ?? [])].some((inode) => files.has(inode))) held[index] = 0;
  }
  if ([...nobodys.values()].reduce((sum, count) => sum + count, 0) <= MOST_LOCKS / 2) return held;
  for (const [index, holder] of holders.entries()) {
    for (const inode of await deps.openFiles(holder)) held[index] = (held[index] ?? 0) + (nobodys.get(inode) ?? 0);
  }
  return held;
}

async function namespaceOf(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/ns/pid`).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : UNKNOWN,
  );
}

async function openFiles(holder: LockHolder): Promise<ReadonlySet<string>> {
  const inodes = new Set<string>();
  let looked = 0;
  for (const pid of holder.processes()) {
    for (const path of await openFilesOf(`/proc/${pid}`)) {
      if (looked++ >= MOST_OPEN) return inodes;
      const file = await stat(path).catch(() => undefined);
      if (file?.isFile() === true) inodes.add(String(file.ino));
    }
  }
  return inodes;
}

/** A process whose first thread has ended shows its files by its other threads only. */
async function openFilesOf(process: string): Promise<string[]> {
  const own = await entriesOf(`${process}/fd`);
  if (own.length > 0) return own;
  for (const task of await entriesOf(`${process}/task`)) {
    const files = await entriesOf(`${task}/fd`);
    if (files.length > 0) return files;
  }
  return [];
}

async function entriesOf(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.map((name) => `${directory}/${name}`);
}
