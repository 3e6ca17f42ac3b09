/**
 * Chooses the range of host user ids for work, as root: one that belongs to no user, container or name service.
 * `work/scratch.ts` gives every live piece of work one of them.
 */
import { readFileSync } from 'node:fs';

/** Above what container managers hand out (up to 1,879,048,191), below what is reserved (2^31). */
const PREFERRED = 1_900_000_000;
/** Tried in this order where the preferred range does not exist, as inside a container with few ids. */
const OTHERS = [200_000, 60_000, 40_000];

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

export function idBaseOfThisMachine(count: number): number | undefined {
  return chooseIdBase(count, read('/proc/self/uid_map'), read('/etc/subuid'));
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
