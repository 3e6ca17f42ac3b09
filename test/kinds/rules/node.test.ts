/** Both sides of every rule of Node, which the service makes and operators change. */
import test from 'ava';
import { nodeKind } from '../../../src/kinds/node/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: nodeKind,
  least: {},
  defaults: [['spec.unschedulable', undefined]],
  limits: [
    {
      rule: 'being unschedulable is a yes or no',
      within: [['spec.unschedulable', true]],
      beyond: [['spec.unschedulable', 'yes']],
    },
    {
      rule: 'labels are labels',
      within: [['spec.labels', { zone: 'a' }]],
      beyond: [['spec.labels', { zone: 'a b' }]],
      field: 'spec.labels.zone',
    },
    { rule: 'the pool has a name', within: [['spec.pool', 'gpus']], beyond: [['spec.pool', '']] },
    { rule: 'the pool has the name of an object', within: [['spec.pool', 'gpus']], beyond: [['spec.pool', 'My GPUs']] },
  ],
  immutable: [],
  mutable: [
    ['spec.unschedulable', false, true],
    ['spec.labels', { zone: 'a' }, { zone: 'b' }],
    ['spec.pool', 'a', 'b'],
  ],
  raiseOnly: [],
});
