/**
 * How long what remains of a Budget lasts, at the rate at which its period was spent so far. It is as of the figures beside it: time alone changes
 * nothing, so no commit is made for it. Pure.
 */
import { equalJson } from '../../api/equal.js';
import { shortSpan } from '../../api/span.js';
import { ZERO, type USD } from '../../money/usd.js';
import type { BudgetStatus } from './schema.js';

/** Younger periods say nothing of a rate (ms). */
const LEAST_MS = 60_000;

/** `start` of the period and `now` in ms. Undefined: nothing was spent. */
export function runwayOf(remaining: USD, spent: USD, start: number, now: number): string | undefined {
  if (spent.lte(ZERO)) return undefined;
  return shortSpan(remaining.times(Math.max(LEAST_MS, now - start)).wholeTimes(spent));
}

/** With the runway of now; where nothing else has changed, with the one that is shown. */
export function withRunway(status: BudgetStatus, runway: string | undefined, before: BudgetStatus): BudgetStatus {
  const { runway: shown, ...others } = before;
  const kept = equalJson(others, status) ? shown : runway;
  return kept === undefined ? status : { ...status, runway: kept };
}
