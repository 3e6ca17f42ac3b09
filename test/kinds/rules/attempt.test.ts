/** Both sides of every rule of Attempt, which the service alone writes. */
import test from 'ava';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: attemptKind,
  least: { epoch: 1, slot: 0 },
  defaults: [],
  limits: [
    { rule: 'epochs begin at 1', within: [['spec.epoch', 1]], beyond: [['spec.epoch', 0]] },
    { rule: 'slots begin at 0', within: [['spec.slot', 0]], beyond: [['spec.slot', -1]] },
  ],
  immutable: [
    ['spec.epoch', 1, 2],
    ['spec.slot', 0, 1],
    ['spec.gang', { id: 'a' }, { id: 'b' }],
    ['spec.restoreFrom', { seq: 1 }, { seq: 2 }],
  ],
  mutable: [],
  raiseOnly: [],
});

test('customers read it and never write it', (t) => {
  t.deepEqual([...attemptKind.operations].toSorted(), ['list', 'read']);
});
