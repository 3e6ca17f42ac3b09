/** Reads processes from /proc, where each may be gone the next moment. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** All processes below this one. */
export function descendants(pid: number): readonly number[] {
  const children = entries(`/proc/${pid}/task`).flatMap((thread) =>
    text(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** None when there is no such directory. */
export function entries(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Empty when there is no such file. */
export function text(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** What it points at; `gone` when there is no such link. */
export function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'gone';
  }
}

/** Host user of the sleep that has this argument. */
export function sleeperOf(argument: string): number | undefined {
  const pid = entries('/proc').find((name) => text(`/proc/${name}/cmdline`) === `sleep\0${argument}\0`);
  return pid === undefined ? undefined : statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
}

/** A process of this name (at most 15 characters) is there; also one that has given its memory back, and has not ended yet. */
export function isListed(name: string): boolean {
  return entries('/proc').some((pid) => text(`/proc/${pid}/comm`) === `${name}\n`);
}
