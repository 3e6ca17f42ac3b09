/** How fast a cell was: units of work that it had reported, by the seconds from its start to its end. Pure. Source: decisions, "Sweep". */
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
