/** Both sides of every rule of Offering, which the catalog alone writes. */
import test from 'ava';
import { offeringKind } from '../../../src/kinds/offering/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: offeringKind,
  least: {},
  defaults: [],
  limits: [
    { rule: 'categories are two', within: [['spec.category', 'CPU']], beyond: [['spec.category', 'TPU']] },
    { rule: 'the count is whole', within: [['spec.count', 0]], beyond: [['spec.count', 0.5]] },
    { rule: 'amounts are quantities', within: [['spec.host.memory', '8Gi']], beyond: [['spec.host.memory', 'much']] },
    {
      rule: 'memory of an accelerator is a quantity',
      within: [['spec.accelerator.memory', '80Gi']],
      beyond: [['spec.accelerator.memory', '80 GB']],
    },
    {
      rule: 'what it supports is a yes or no',
      within: [['spec.supports.gangs', true]],
      beyond: [['spec.supports.gangs', 'yes']],
    },
  ],
  immutable: [],
  mutable: [],
  raiseOnly: [],
});

test('customers read it and never write it', (t) => {
  t.deepEqual([...offeringKind.operations].toSorted(), ['list', 'read']);
});
