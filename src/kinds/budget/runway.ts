/**
 * How long what remains of a Budget lasts, at the rate at which its period was spent so far, or at that of the last day where that is faster. It is
 * as of the figures beside it: time alone changes nothing, so no commit is made for it. Pure.
 */
import { equalJson } from '../../api/equal.js';
import { shortSpan } from '../../api/span.js';
import { ZERO, type USD } from '../../money/usd.js';
import type { BudgetStatus } from './schema.js';

/** Younger periods say nothing of a rate (ms). */
const LEAST_MS = 60_000;

const NOTHING_LEFT = 'none';

/** How long a mark counts (ms). */
const DAY_MS = 86_400_000;

/** What was spent at a time (ms). */
export interface SpendMark {
  readonly period: string;
  readonly time: number;
  readonly spentUSD: string;
}

/** The older one is one day old or two; the newer takes its place. Of another period: they begin anew. */
export function withMark(marks: readonly SpendMark[], now: SpendMark): readonly SpendMark[] {
  const newest = marks.at(-1);
  if (newest === undefined || newest.period !== now.period) return [now];
  return now.time - newest.time < DAY_MS ? marks : [newest, now];
}

/** `start` in ms: when spending began to count, at the start of the period or later with the Budget. Undefined: nothing was spent. */
export function runwayOf(
  remaining: USD,
  spent: USD,
  {
    start,
    now,
    marks = [],
  }: { readonly start: number; readonly now: number; readonly marks?: readonly SpendMark[] | undefined },
): string | undefined {
  if (spent.lte(ZERO)) return undefined;
  if (remaining.lte(ZERO)) return NOTHING_LEFT;
  const lasting = (amount: USD, ms: number): number =>
    amount.lte(ZERO) ? Infinity : remaining.times(ms).wholeTimes(amount);
  const [mark] = marks;
  const lately = mark === undefined ? 0 : now - mark.time;
  const byMark = mark === undefined || lately < LEAST_MS ? Infinity : lasting(spent.minus(mark.spentUSD), lately);
  return shortSpan(Math.min(lasting(spent, Math.max(LEAST_MS, now - start)), byMark));
}

/** With the runway of now; where nothing else has changed, with the one that is shown. */
export function withRunway(status: BudgetStatus, runway: string | undefined, before: BudgetStatus): BudgetStatus {
  const { runway: shown, ...others } = before;
  const kept = equalJson(others, status) ? shown : runway;
  return kept === undefined ? status : { ...status, runway: kept };
}
