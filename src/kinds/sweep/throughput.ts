/**
 * How fast a cell was: units of work that it had reported, by the seconds from its start to its end; and how cheap. Pure. Source: decisions, "Sweep".
 */
import { USD } from '../../money/usd.js';
import type { ChildSlot } from '../children/slots.js';

export interface Best {
  readonly index: number;
  /** Units per second. */
  readonly rate: number;
}

/** ms without the time that it was suspended; absent before its end, and for a cell that never started. */
export function wallMs({ detail: { startedAt, endedAt, suspendedMs = 0 } }: ChildSlot): number | undefined {
  return startedAt === undefined || endedAt === undefined ? undefined : Math.max(0, endedAt - startedAt - suspendedMs);
}

/** Units per second; absent without reports, and where no time has passed. */
export function rateOf(slot: ChildSlot): number | undefined {
  const wall = wallMs(slot);
  const { units } = slot.detail;
  return wall === undefined || wall === 0 || units === undefined ? undefined : (units * 1000) / wall;
}

/** The faster one; of two that are as fast the lower index. Only cells that have succeeded are compared. */
export function fasterOf(best: Best | undefined, slot: ChildSlot): Best | undefined {
  const rate = slot.phase === 'Succeeded' ? rateOf(slot) : undefined;
  if (rate === undefined) return best;
  const isBetter = best === undefined || rate > best.rate || (rate === best.rate && slot.index < best.index);
  return isBetter ? { index: slot.index, rate } : best;
}

export interface Cheapest {
  readonly index: number;
  readonly costUSD: string;
}

/** The cheaper one; of two that cost as much the lower index. Only cells that have succeeded are compared. */
export function cheaperOf(
  best: Cheapest | undefined,
  { index, phase, detail: { costUSD } }: ChildSlot,
): Cheapest | undefined {
  if (phase !== 'Succeeded' || costUSD === undefined) return best;
  if (best === undefined) return { index, costUSD };
  const [cost, least] = [new USD(costUSD), new USD(best.costUSD)];
  const isBetter = cost.lt(least) || (!cost.gt(least) && index < best.index);
  return isBetter ? { index, costUSD } : best;
}
