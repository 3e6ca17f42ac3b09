/** The arithmetic of capacity on one machine: what fits, what one org may hold of it, what is left, and how it reads. */
import { formatBytes, formatMilliCpu, parseBytes, parseMilliCpu } from '../../api/quantity.js';
import type { ResourceAmounts } from '../amounts.js';
import type { NodeAmounts } from './schema.js';

/**
 * Attempts on one machine at the same time, whatever they ask for. Each costs the machine a few processes, a log and a
 * writable layer of its own beyond the amounts that are counted.
 */
export const MAX_PLACES = 1_000;

export const NOTHING: Load = { milliCpu: 0, memory: 0, disk: 0, places: 0 };

/** Amounts in use, and by how many Attempts. */
export interface Load extends ResourceAmounts {
  readonly places: number;
}

/** What a machine has, and how much of it the work of one org may hold at once. */
export interface Capacity extends ResourceAmounts {
  /** 1 to 100. Absent or 100: one org may hold all of it. */
  readonly orgPercent?: number | undefined;
}

export function add(load: Load, amounts: ResourceAmounts): Load {
  return {
    milliCpu: load.milliCpu + amounts.milliCpu,
    memory: load.memory + amounts.memory,
    disk: load.disk + amounts.disk,
    places: load.places + 1,
  };
}

export function take(load: Load, amounts: ResourceAmounts): Load {
  return {
    milliCpu: load.milliCpu - amounts.milliCpu,
    memory: load.memory - amounts.memory,
    disk: load.disk - amounts.disk,
    places: load.places - 1,
  };
}

export function hasRoomFor(amounts: ResourceAmounts, load: Load, capacity: ResourceAmounts): boolean {
  return (
    load.places < MAX_PLACES &&
    load.milliCpu + amounts.milliCpu <= capacity.milliCpu &&
    load.memory + amounts.memory <= capacity.memory &&
    load.disk + amounts.disk <= capacity.disk
  );
}

/** What the work of one org may hold at once; undefined: all that there is. */
export function orgCapOf({ milliCpu, memory, disk, orgPercent = 100 }: Capacity): Load | undefined {
  if (orgPercent >= 100) return undefined;
  const part = (of: number): number => Math.floor((of * orgPercent) / 100);
  return { milliCpu: part(milliCpu), memory: part(memory), disk: part(disk), places: part(MAX_PLACES) };
}

/** Whether an org that holds `held` may hold so much more. */
export function isWithinCap(amounts: ResourceAmounts, held: Load, capacity: Capacity): boolean {
  const cap = orgCapOf(capacity);
  if (cap === undefined) return true;
  const { milliCpu, memory, disk, places } = add(held, amounts);
  return milliCpu <= cap.milliCpu && memory <= cap.memory && disk <= cap.disk && places <= cap.places;
}

/** Whether it would have a place if nobody held anything. */
export function everFits(amounts: ResourceAmounts, capacity: Capacity): boolean {
  return hasRoomFor(amounts, NOTHING, capacity) && isWithinCap(amounts, NOTHING, capacity);
}

/** The largest part that it takes of anything the machine has: 0 to 1. */
export function shareOf(load: Load, { milliCpu, memory, disk }: ResourceAmounts): number {
  const part = (used: number, of: number): number => (used > 0 ? used / Math.max(1, of) : 0);
  return Math.max(
    part(load.milliCpu, milliCpu),
    part(load.memory, memory),
    part(load.disk, disk),
    part(load.places, MAX_PLACES),
  );
}

export function showAmounts(amounts: ResourceAmounts, places: number): NodeAmounts {
  return {
    cpu: formatMilliCpu(amounts.milliCpu),
    memory: formatBytes(amounts.memory),
    disk: formatBytes(amounts.disk),
    attempts: places,
  };
}

/** Undefined: the engine has not said all of it. */
export function readAmounts({ cpu, memory, disk }: NodeAmounts): ResourceAmounts | undefined {
  const milliCpu = parseMilliCpu(cpu ?? '');
  const [memoryBytes, diskBytes] = [parseBytes(memory ?? ''), parseBytes(disk ?? '')];
  if (milliCpu === undefined || memoryBytes === undefined || diskBytes === undefined) return undefined;
  return { milliCpu, memory: memoryBytes, disk: diskBytes };
}

/** `cpu 2, memory 1Gi, disk 64Mi` */
export function sayAmounts({ milliCpu, memory, disk }: ResourceAmounts): string {
  return `cpu ${formatMilliCpu(milliCpu)}, memory ${formatBytes(memory)}, disk ${formatBytes(disk)}`;
}
