/** Both sides of every rule of AgentGroup. */
import test from 'ava';
import { agentGroupKind } from '../../../src/kinds/agentgroup/index.js';
import { holdRules, type Change } from './table.js';

const evaluation = (more: object): Change[] => [
  ['spec.evaluation', { environment: 'svc/gsm8k@1.0.0', tasks: 1, ...more }],
];

holdRules(test, {
  kind: agentGroupKind,
  least: { agent: 'coder' },
  defaults: [
    ['spec.limits', { maxActive: 10, maxPending: 10_000 }],
    ['spec.sealed', false],
    ['spec.state', 'Running'],
  ],
  limits: [
    { rule: 'an Agent is needed', within: [], beyond: [['spec.agent', undefined]] },
    { rule: 'an Agent of the catalog', within: [['spec.agent', 'svc/coder']], beyond: [['spec.agent', 'a/b']] },
    {
      rule: 'zero active stands for the default',
      within: [['spec.limits.maxActive', 0]],
      beyond: [['spec.limits.maxActive', -1]],
    },
    {
      rule: 'at most 1000 active',
      within: [['spec.limits.maxActive', 1000]],
      beyond: [['spec.limits.maxActive', 1001]],
    },
    {
      rule: 'zero pending stands for the default',
      within: [['spec.limits.maxPending', 0]],
      beyond: [['spec.limits.maxPending', -1]],
    },
    {
      rule: 'at most 10000 pending',
      within: [['spec.limits.maxPending', 10_000]],
      beyond: [['spec.limits.maxPending', 10_001]],
    },
    { rule: 'a cap is an amount', within: [['spec.maxCostUSD', '0']], beyond: [['spec.maxCostUSD', '1e3']] },
    { rule: 'it is sealed or not', within: [['spec.sealed', true]], beyond: [['spec.sealed', 'yes']] },
    { rule: 'the states', within: [['spec.state', 'Cancelled']], beyond: [['spec.state', 'Suspended']] },
    {
      rule: 'an evaluation needs an Environment',
      within: evaluation({}),
      beyond: evaluation({ environment: undefined }),
      field: 'spec.evaluation.environment',
    },
    {
      rule: 'an Environment of the project',
      within: evaluation({ environment: 'mine' }),
      beyond: evaluation({ environment: 'a/b' }),
      field: 'spec.evaluation.environment',
    },
    {
      rule: 'an Environment of the catalog at a version',
      within: evaluation({ environment: 'svc/gsm8k@1.0.0-rc.1' }),
      beyond: evaluation({ environment: 'svc/gsm8k' }),
      field: 'spec.evaluation.environment',
    },
    {
      rule: 'a version is a semantic one',
      within: evaluation({ environment: 'mine@2.0.0' }),
      beyond: evaluation({ environment: 'mine@2' }),
      field: 'spec.evaluation.environment',
    },
    {
      rule: 'an evaluation needs tasks',
      within: evaluation({}),
      beyond: evaluation({ tasks: undefined }),
      field: 'spec.evaluation.tasks',
    },
    {
      rule: 'at least one task',
      within: evaluation({ tasks: 1 }),
      beyond: evaluation({ tasks: 0 }),
      field: 'spec.evaluation.tasks',
    },
    {
      rule: 'at most 100 tasks',
      within: evaluation({ tasks: 100 }),
      beyond: evaluation({ tasks: 101 }),
      field: 'spec.evaluation.tasks',
    },
    {
      rule: 'at least one repetition',
      within: evaluation({ repetitions: 1 }),
      beyond: evaluation({ repetitions: 0 }),
      field: 'spec.evaluation.repetitions',
    },
    {
      rule: 'tasks times repetitions is at most 100',
      within: evaluation({ tasks: 25, repetitions: 4 }),
      beyond: evaluation({ tasks: 25, repetitions: 5 }),
      field: 'spec.evaluation.repetitions',
    },
    {
      rule: 'a seed is whole',
      within: evaluation({ seed: -1 }),
      beyond: evaluation({ seed: 0.5 }),
      field: 'spec.evaluation.seed',
    },
    {
      rule: 'the splits',
      within: evaluation({ split: 'train' }),
      beyond: evaluation({ split: 'dev' }),
      field: 'spec.evaluation.split',
    },
    {
      rule: 'a minute at least',
      within: evaluation({ timeout: '1m' }),
      beyond: evaluation({ timeout: '59s' }),
      field: 'spec.evaluation.timeout',
    },
    {
      rule: 'a day at most',
      within: evaluation({ timeout: '24h' }),
      beyond: evaluation({ timeout: '24h1s' }),
      field: 'spec.evaluation.timeout',
    },
  ],
  immutable: [
    ['spec.agent', 'coder', 'writer'],
    ['spec.evaluation', { environment: 'mine', tasks: 1 }, { environment: 'mine', tasks: 2 }],
  ],
  mutable: [
    ['spec.limits', { maxActive: 1 }, { maxActive: 2, maxPending: 7 }],
    ['spec.state', 'Running', 'Cancelled'],
  ],
  raiseOnly: [
    ['spec.maxCostUSD', '1.00', '1.01'],
    ['spec.sealed', false, true],
  ],
});

test('an evaluation gets its defaults', (t) => {
  const spec = agentGroupKind.schema.spec.parse({ agent: 'a', evaluation: { environment: 'mine', tasks: 3 } });
  t.like(spec, { evaluation: { repetitions: 1, split: 'test', timeout: '30m' } });
});
