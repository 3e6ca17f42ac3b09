/**
 * Owns the choice of host user ids for work, as root: every live piece of work has one of its own, so that neither files
 * nor processes of two can touch. Ids are handed out from a range that belongs to no user, container or name service.
 */
import { readFileSync } from 'node:fs';

/** Above what container managers hand out (up to 1,879,048,191), below what is reserved (2^31). */
const PREFERRED = 1_900_000_000;
/** Tried in this order where the preferred range does not exist, as inside a container with few ids. */
const OTHERS = [200_000, 60_000, 40_000];

export class HostIds {
  readonly base: number;
  private readonly count: number;
  private readonly taken = new Set<number>();
  private next = 0;

  constructor(base: number, count: number) {
    this.base = base;
    this.count = count;
  }

  /** An id that no live work has, or undefined when all are taken. Goes round, so that an id rests before it is used again. */
  take(): number | undefined {
    if (this.taken.size >= this.count) return undefined;
    while (this.taken.has(this.next)) this.next = (this.next + 1) % this.count;
    const slot = this.next;
    this.taken.add(slot);
    this.next = (slot + 1) % this.count;
    return this.base + slot;
  }

  release(id: number): void {
    this.taken.delete(id - this.base);
  }

  owns(id: number): boolean {
    return id >= this.base && id < this.base + this.count;
  }
}

/** First of the ranges that this machine can represent and that nobody was given. */
export function chooseIdBase(count: number, uidMap: string, subordinate: string): number | undefined {
  const mapped = pairs(uidMap, /\s+/, 0, 2);
  const given = pairs(subordinate, /:/, 1, 2);
  return [PREFERRED, ...OTHERS].find(
    (base) =>
      mapped.some(([from, length]) => base >= from && base + count <= from + length) &&
      !given.some(([from, length]) => base < from + length && from < base + count),
  );
}

export function hostIdsOfThisMachine(count: number): HostIds | undefined {
  const base = chooseIdBase(count, read('/proc/self/uid_map'), read('/etc/subuid'));
  return base === undefined ? undefined : new HostIds(base, count);
}

function pairs(text: string, separator: RegExp, first: number, second: number): [number, number][] {
  return text.split('\n').flatMap((line): [number, number][] => {
    const fields = line.trim().split(separator);
    const from = Number(fields[first]);
    const length = Number(fields[second]);
    return fields.length > second && Number.isFinite(from) && Number.isFinite(length) ? [[from, length]] : [];
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
