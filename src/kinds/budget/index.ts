/** Owns the declaration of Budget: a limit on what part of the org may spend. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { budgetReferences } from './references.js';
import { budgetSpec, budgetStatus, type BudgetSpec, type BudgetStatus } from './schema.js';

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
    {
      name: 'Limit',
      type: 'string',
      description: 'Limit of the period in USD.',
      cell: (object: This) => object.spec.limitUSD,
    },
    {
      name: 'Spent',
      type: 'string',
      description: 'Spent in the period in USD.',
      cell: (object: This) => object.status.spentUSD ?? '',
    },
    {
      name: 'Used',
      type: 'integer',
      description: 'Percent of the limit that is spent.',
      cell: (object: This) => object.status.percentUsed,
    },
    {
      name: 'Action',
      type: 'string',
      description: 'Block or Notify.',
      cell: (object: This) => object.spec.action,
    },
    {
      name: 'Period',
      type: 'string',
      description: 'Monthly or Total.',
      cell: (object: This) => object.spec.period,
    },
    {
      name: 'Held',
      type: 'string',
      priority: 1,
      description: 'Held for work that runs, in USD.',
      cell: (object: This) => object.status.heldUSD ?? '',
    },
    {
      name: 'Project',
      type: 'string',
      priority: 1,
      description: 'Project that it counts; nothing: every project.',
      cell: (object: This) => object.spec.scope?.project ?? '',
    },
  ],
  selectableFields: {
    'spec.action': (object: This) => object.spec.action,
    'spec.period': (object: This) => object.spec.period,
    'spec.scope.project': (object: This) => object.spec.scope?.project,
  },
  initialStatus: () => ({ percentUsed: 0 }),
  references: budgetReferences,
  unbuilt: true,
  machine: plainMachine<BudgetSpec, BudgetStatus>(),
};
