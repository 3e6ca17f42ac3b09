/** Both sides of every rule of EnrollmentToken. */
import test from 'ava';
import { enrollmentTokenKind } from '../../../src/kinds/enrollmenttoken/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: enrollmentTokenKind,
  least: {},
  defaults: [
    ['spec.ttl', '1h'],
    ['spec.maxUses', 1],
  ],
  limits: [
    { rule: 'at most a day', within: [['spec.ttl', '24h']], beyond: [['spec.ttl', '24h1s']] },
    { rule: 'at least a second', within: [['spec.ttl', '1s']], beyond: [['spec.ttl', '0s']] },
    { rule: 'used once at least', within: [['spec.maxUses', 1]], beyond: [['spec.maxUses', 0]] },
    { rule: 'the pool is a name', within: [['spec.pool', 'gpus']], beyond: [['spec.pool', 'My GPUs']] },
  ],
  immutable: [
    ['spec.pool', 'a', 'b'],
    ['spec.ttl', '1h', '2h'],
    ['spec.maxUses', 1, 2],
  ],
  mutable: [],
  raiseOnly: [],
});
