/** The declaration of Budget: a limit on what part of the org may spend. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, integerColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { budgetMachine, dropBudget } from './machine.js';
import { budgetSpec, type BudgetSpec, budgetStatus, type BudgetStatus } from './schema.js';

type This = ApiObject<BudgetSpec, BudgetStatus>;

export const budgetKind: KindDefinition = {
  kind: 'Budget',
  plural: 'budgets',
  singular: 'budget',
  shortNames: ['bud'],
  categories: ['billing'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description: 'A spending limit, enforced or announced, over the whole org, a project, or what a selector matches.',
  schema: {
    spec: budgetSpec,
    status: budgetStatus,
    immutable: ['spec.period', 'spec.scope'],
    raiseOnly: [],
  },
  columns: [
    textColumn('Limit', 'Limit of the period in USD.', ({ spec }: This) => spec.limitUSD),
    textColumn('Spent', 'Spent in the period in USD.', ({ status }: This) => status.spentUSD),
    integerColumn('Used', 'Percent of the limit that is spent.', ({ status }: This) => status.percentUsed),
    textColumn('Action', 'Block or Notify.', ({ spec }: This) => spec.action),
    textColumn('Period', 'Monthly or Total.', ({ spec }: This) => spec.period),
    wide(textColumn('Held', 'Held for work that runs, in USD.', ({ status }: This) => status.heldUSD)),
    wide(textColumn('Remaining', 'Left for new holds, in USD.', ({ status }: This) => status.remainingUSD)),
    wide(
      textColumn(
        'Runway',
        'How long what remains lasts at the rate of the period so far; nothing: nothing was spent.',
        ({ status }: This) => status.runway,
      ),
    ),
    wide(
      textColumn('Project', 'Project that it counts; nothing: every project.', ({ spec }: This) => spec.scope?.project),
    ),
  ],
  selectableFields: {
    'spec.action': (object: This) => object.spec.action,
    'spec.period': (object: This) => object.spec.period,
    'spec.scope.project': (object: This) => object.spec.scope?.project,
  },
  initialStatus: () => ({ percentUsed: 0 }),
  references: budgetReferences,
  atRemoval: ({ metadata }) => [dropBudget(metadata.uid)],
  machine: budgetMachine,
};

export function budgetReferences({ spec }: ApiObject<BudgetSpec>): readonly Reference[] {
  const name = spec.scope?.project;
  return name === undefined ? [] : [{ field: 'spec.scope.project', kind: 'Namespace', project: '', name }];
}
