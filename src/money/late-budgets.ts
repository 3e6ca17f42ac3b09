/**
 * Budgets that were made while work ran, and of which its hold has no part yet: what the work uses counts in them as if it had one. So a new
 * Budget counts everything from the moment in which it is made, and a monthly one the whole month. Pure.
 */
import { budgetCounter, monthOf, parseCounter, periodOf } from './counters.js';
import type { Hold } from './hold.js';
import type { StandingBudget } from './limits.js';
import { isInScope, type Usage } from './payer.js';

/** Those in scope of which the hold has no part. */
export function lateBudgets(
  hold: Pick<Hold, 'payer' | 'parts'>,
  budgets: readonly StandingBudget[],
): readonly StandingBudget[] {
  const uids = new Set<string>();
  for (const { counter } of hold.parts) {
    const name = parseCounter(counter);
    if (name.of === 'Budget') uids.add(name.uid);
  }
  const late: StandingBudget[] = [];
  for (const budget of budgets) if (!uids.has(budget.uid) && isInScope(hold.payer, budget)) late.push(budget);
  return late;
}

/** The counters of these in which use from `at` (ms) on counts: of its month and later ones, in a total since it was made. */
export function lateCounters(late: readonly StandingBudget[], at: number): readonly string[] {
  return late
    .filter(({ period, made }) => (period === 'Total' ? made <= at : monthOf(made) <= monthOf(at)))
    .map(({ uid, period }) => budgetCounter(uid, periodOf(period, at)));
}

/** The end (ms) of what may be charged together: use before and after a total Budget was made is two charges. */
export function endBefore(late: readonly StandingBudget[], since: number, until: number): number {
  const made = late.filter((budget) => budget.period === 'Total' && budget.made > since).map((budget) => budget.made);
  return Math.min(until, ...made);
}

/** With the counters of monthly Budgets that began with this use: it was posted before they were made, in the same month. */
export function withOpenings(
  counters: readonly string[],
  usage: Usage,
  month: string,
  budgets: readonly StandingBudget[],
): readonly string[] {
  const more: string[] = [];
  for (const budget of budgets) {
    if (budget.period !== 'Monthly' || monthOf(budget.made) !== month) continue;
    const counter = budgetCounter(budget.uid, month);
    if (!counters.includes(counter) && isInScope(usage, budget)) more.push(counter);
  }
  return more.length === 0 ? counters : [...counters, ...more];
}
