/** Both sides of every rule of Budget. */
import test from 'ava';
import { budgetKind } from '../../../src/kinds/budget/index.js';
import { holdRules, type Change, type Limit } from './table.js';

const emails = (count: number): string[] => Array.from({ length: count }, (_, index) => `a${index}@example.com`);

const manyLabels = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'a']));

const requirement = (operator: string, values?: readonly string[]): Change => [
  'spec.scope.selector.matchExpressions',
  [{ key: 'team', operator, ...(values === undefined ? {} : { values }) }],
];

const needsValues = (operator: string): Limit => ({
  rule: `${operator} compares with values`,
  within: [requirement(operator, ['a'])],
  beyond: [requirement(operator, [])],
  field: 'spec.scope.selector.matchExpressions[0].values',
});

const takesNone = (operator: string): Limit => ({
  rule: `${operator} takes no values`,
  within: [requirement(operator)],
  beyond: [requirement(operator, ['a'])],
  field: 'spec.scope.selector.matchExpressions[0].values',
});

holdRules(test, {
  kind: budgetKind,
  least: { limitUSD: '10.00' },
  defaults: [
    ['spec.action', 'Block'],
    ['spec.period', 'Monthly'],
    ['spec.scope', undefined],
    ['spec.thresholds', [50, 80, 100]],
    ['spec.notify', undefined],
  ],
  limits: [
    { rule: 'the limit is required', within: [], beyond: [['spec.limitUSD', undefined]] },
    {
      rule: 'the limit is above 0',
      within: [['spec.limitUSD', '0.000000001']],
      beyond: [['spec.limitUSD', '0.00']],
    },
    { rule: 'the limit is an amount', within: [['spec.limitUSD', '12']], beyond: [['spec.limitUSD', 12]] },
    { rule: 'the action is known', within: [['spec.action', 'Notify']], beyond: [['spec.action', 'Warn']] },
    { rule: 'the period is known', within: [['spec.period', 'Total']], beyond: [['spec.period', 'Weekly']] },
    {
      rule: 'at most 5 thresholds',
      within: [['spec.thresholds', [10, 20, 30, 40, 50]]],
      beyond: [['spec.thresholds', [10, 20, 30, 40, 50, 60]]],
    },
    {
      rule: 'no threshold is a choice too',
      within: [['spec.thresholds', []]],
      beyond: [['spec.thresholds', 50]],
    },
    {
      rule: 'thresholds begin at 1 percent',
      within: [['spec.thresholds', [1]]],
      beyond: [['spec.thresholds', [0]]],
      field: 'spec.thresholds[0]',
    },
    {
      rule: 'thresholds end at 100 percent',
      within: [['spec.thresholds', [100]]],
      beyond: [['spec.thresholds', [101]]],
      field: 'spec.thresholds[0]',
    },
    {
      rule: 'thresholds are whole',
      within: [['spec.thresholds', [50]]],
      beyond: [['spec.thresholds', [50.5]]],
      field: 'spec.thresholds[0]',
    },
    {
      rule: 'at most 10 recipients',
      within: [['spec.notify.emails', emails(10)]],
      beyond: [['spec.notify.emails', emails(11)]],
    },
    {
      rule: 'recipients are addresses',
      within: [['spec.notify.emails', ['a@example.com']]],
      beyond: [['spec.notify.emails', ['a']]],
      field: 'spec.notify.emails[0]',
    },
    {
      rule: 'the project is a name',
      within: [['spec.scope.project', 'default']],
      beyond: [['spec.scope.project', 'Not a name']],
    },
    {
      rule: 'labels are labels',
      within: [['spec.scope.selector.matchLabels', { team: 'a' }]],
      beyond: [['spec.scope.selector.matchLabels', { team: 'a b' }]],
      field: 'spec.scope.selector.matchLabels.team',
    },
    {
      rule: 'a requirement names a key',
      within: [requirement('Exists')],
      beyond: [['spec.scope.selector.matchExpressions', [{ operator: 'Exists' }]]],
      field: 'spec.scope.selector.matchExpressions[0].key',
    },
    {
      rule: 'a requirement names an operator',
      within: [requirement('Exists')],
      beyond: [['spec.scope.selector.matchExpressions', [{ key: 'team' }]]],
      field: 'spec.scope.selector.matchExpressions[0].operator',
    },
    {
      rule: 'operators are those of Kubernetes',
      within: [requirement('DoesNotExist')],
      beyond: [requirement('Is', ['a'])],
      field: 'spec.scope.selector.matchExpressions[0].operator',
    },
    {
      rule: 'a key that is none is told of beside an operator that is none',
      within: [requirement('Exists')],
      beyond: [['spec.scope.selector.matchExpressions', [{ key: 'a b', operator: 'Is' }]]],
      field: 'spec.scope.selector.matchExpressions[0].key',
    },
    {
      rule: 'a selector has at most 100 labels and requirements',
      within: [['spec.scope.selector.matchLabels', manyLabels(100)]],
      beyond: [['spec.scope.selector.matchLabels', manyLabels(101)]],
      field: 'spec.scope.selector',
    },
    needsValues('In'),
    needsValues('NotIn'),
    takesNone('Exists'),
    takesNone('DoesNotExist'),
  ],
  immutable: [
    ['spec.period', 'Monthly', 'Total'],
    ['spec.scope.project', 'a', 'b'],
    ['spec.scope.selector.matchLabels', { team: 'a' }, { team: 'b' }],
    ['spec.scope', undefined, { project: 'a' }],
  ],
  mutable: [
    ['spec.limitUSD', '10.00', '5.00'],
    ['spec.action', 'Block', 'Notify'],
    ['spec.thresholds', [50], [60]],
    ['spec.notify.emails', emails(1), emails(2)],
  ],
  raiseOnly: [],
});
