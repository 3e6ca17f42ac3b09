/** Who pays: the counters that a piece of work counts in, by its project, its labels at admission, and the objects it belongs to. Pure. */
import { parseLabelSelector, type LabelSelector } from '../api/selectors/label.js';
import { budgetCounter, costCounter, periodOf, WALLET } from './counters.js';
import type { BudgetLimit } from './limits.js';

/** An object whose cost is counted. */
export interface CostOwner {
  readonly uid: string;
  readonly kind: string;
  readonly project: string;
  readonly name: string;
}

export interface Payer {
  readonly project: string;
  /** At admission. */
  readonly labels: Readonly<Record<string, string>>;
  /** The object itself first, then each controller upwards. */
  readonly costs: readonly CostOwner[];
}

/** Use under this project and these labels, at admission. */
export type Usage = Pick<Payer, 'project' | 'labels'>;

const NOTHING: LabelSelector = { everything: false, matches: () => false };
/** By their text: Budgets are read anew for each commit. Full: forgotten at once (I10). */
const MOST_COMPILED = 1_024;
const compiled = new Map<string, LabelSelector>();

/** Whether this use counts in the Budget. Notify Budgets count like those that Block. */
export function isInScope(usage: Usage, budget: BudgetLimit): boolean {
  if (budget.project !== undefined && budget.project !== usage.project) return false;
  return budget.selector === undefined || selectorOf(budget.selector).matches(usage.labels);
}

function selectorOf(text: string): LabelSelector {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const parsed = parseLabelSelector(text);
  const selector = parsed.outcome === 'Selector' ? parsed.selector : NOTHING;
  if (compiled.size >= MOST_COMPILED) compiled.clear();
  compiled.set(text, selector);
  return selector;
}

/** The counters in which use at `at` (ms) counts: costs first, then Budgets, then the wallet. */
export function countersOf(payer: Payer, budgets: Iterable<BudgetLimit>, at: number): readonly string[] {
  const counters = new Set(payer.costs.map(({ uid }) => costCounter(uid)));
  for (const budget of budgets)
    if (isInScope(payer, budget)) counters.add(budgetCounter(budget.uid, periodOf(budget.period, at)));
  return [...counters, WALLET];
}
