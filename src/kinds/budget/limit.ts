/** What a Budget is in the ledger: its limit with the scope as the text of a label selector. Pure. */
import type { BudgetLimit } from '../../money/limits.js';
import type { LabelSelectorSpec } from '../shapes/names.js';
import type { BudgetSpec } from './schema.js';

type Requirement = NonNullable<LabelSelectorSpec['matchExpressions']>[number];

const OPERATORS: Readonly<Record<Requirement['operator'], (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** In the grammar of Kubernetes' label selectors; equal selectors have equal texts. Undefined: it selects everything. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelectorSpec): string | undefined {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    OPERATORS[operator](key, [...new Set(values)].toSorted().join(',')),
  );
  const all = [...new Set([...labels, ...expressions])].toSorted();
  return all.length === 0 ? undefined : all.join(',');
}

export function limitOf(metadata: { readonly uid: string; readonly name: string }, spec: BudgetSpec): BudgetLimit {
  const { limitUSD, action, period, scope, thresholds } = spec;
  return {
    ...{ uid: metadata.uid, name: metadata.name, limitUSD, action, period },
    project: scope?.project,
    selector: scope?.selector && selectorText(scope.selector),
    thresholds: [...new Set(thresholds)].toSorted((a, b) => a - b),
  };
}
