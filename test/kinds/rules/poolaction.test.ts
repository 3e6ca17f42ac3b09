/** Both sides of every rule of PoolAction, of which members write the decision only. */
import test from 'ava';
import { poolActionKind } from '../../../src/kinds/poolaction/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: poolActionKind,
  least: {},
  defaults: [['spec.decision', 'Pending']],
  limits: [
    { rule: 'decisions are three', within: [['spec.decision', 'Approved']], beyond: [['spec.decision', 'Maybe']] },
    {
      rule: 'no fewer GPUs than none',
      within: [['spec.change.burstMaxGPUs', 0]],
      beyond: [['spec.change.burstMaxGPUs', -1]],
    },
    {
      rule: 'going to the market is a yes or no',
      within: [['spec.change.burstToMarket', false]],
      beyond: [['spec.change.burstToMarket', 'no']],
    },
    {
      rule: 'objects are told as kind/name',
      within: [['spec.targets.objects', ['Job/train-1']]],
      beyond: [['spec.targets.objects', ['train-1']]],
      field: 'spec.targets.objects[0]',
    },
    {
      rule: 'Nodes have names of objects',
      within: [['spec.targets.nodes', ['rack-1']]],
      beyond: [['spec.targets.nodes', ['Rack 1']]],
      field: 'spec.targets.nodes[0]',
    },
    {
      rule: 'the wait is a duration',
      within: [['spec.change.waitTimeout', '5m']],
      beyond: [['spec.change.waitTimeout', 'soon']],
    },
    {
      rule: 'amounts are amounts',
      within: [['spec.estimatedSavingsUSD', '1.00']],
      beyond: [['spec.estimatedSavingsUSD', '-1.00']],
    },
  ],
  immutable: [
    ['spec.action', 'cordon', 'drain'],
    ['spec.change.burstMaxGPUs', 1, 2],
    ['spec.change.burstToMarket', true, false],
    ['spec.change.waitTimeout', '1m', '2m'],
    ['spec.estimatedSavingsUSD', '1.00', '2.00'],
    ['spec.expirationTime', '2026-01-03T00:00:00Z', '2026-01-04T00:00:00Z'],
    ['spec.mode', 'Propose', 'Act'],
    ['spec.opportunityCostUSD', '1.00', '2.00'],
    ['spec.pool', 'a', 'b'],
    ['spec.reason', 'a', 'b'],
    ['spec.recommendation', 'a', 'b'],
    ['spec.targets.nodes', ['a'], ['b']],
    ['spec.targets.objects', ['Job/a'], ['Job/b']],
  ],
  mutable: [['spec.decision', 'Pending', 'Rejected']],
  raiseOnly: [],
});

test('members list, read and patch it', (t) => {
  t.deepEqual([...poolActionKind.operations].toSorted(), ['list', 'patch', 'read']);
});
