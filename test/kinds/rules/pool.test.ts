/** Both sides of every rule of Pool. */
import test from 'ava';
import { poolKind } from '../../../src/kinds/pool/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: poolKind,
  least: {},
  defaults: [
    ['spec.burst', undefined],
    ['spec.automation', undefined],
  ],
  limits: [
    {
      rule: 'the display name has at most 256 characters',
      within: [['spec.displayName', 'a'.repeat(256)]],
      beyond: [['spec.displayName', 'a'.repeat(257)]],
    },
    {
      rule: 'the selector selects by labels',
      within: [['spec.selector.matchLabels', { gpu: 'h100' }]],
      beyond: [['spec.selector.matchLabels', { gpu: 'h 100' }]],
      field: 'spec.selector.matchLabels.gpu',
    },
    { rule: 'no fewer GPUs than none', within: [['spec.burst.maxGPUs', 0]], beyond: [['spec.burst.maxGPUs', -1]] },
    {
      rule: 'going to the market is a yes or no',
      within: [['spec.burst.toMarket', true]],
      beyond: [['spec.burst.toMarket', 'yes']],
    },
    {
      rule: 'the wait is a duration',
      within: [['spec.burst.waitTimeout', '5m']],
      beyond: [['spec.burst.waitTimeout', '5']],
    },
    { rule: 'modes are three', within: [['spec.automation.mode', 'Act']], beyond: [['spec.automation.mode', 'Force']] },
    {
      rule: 'actions have names',
      within: [['spec.automation.actions', ['cordon']]],
      beyond: [['spec.automation.actions', ['']]],
      field: 'spec.automation.actions[0]',
    },
    { rule: 'paused is a yes or no', within: [['spec.paused', true]], beyond: [['spec.paused', 1]] },
  ],
  immutable: [],
  mutable: [
    ['spec.displayName', 'a', 'b'],
    ['spec.selector.matchLabels', { a: 'b' }, { a: 'c' }],
    ['spec.burst.maxGPUs', 8, 4],
    ['spec.burst.toMarket', true, false],
    ['spec.burst.waitTimeout', '5m', '1m'],
    ['spec.automation.mode', 'Observe', 'Act'],
    ['spec.automation.actions', ['a'], ['b']],
    ['spec.paused', false, true],
  ],
  raiseOnly: [],
});
