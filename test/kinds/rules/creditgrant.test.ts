/** Both sides of every rule of CreditGrant, which the service alone writes. */
import test from 'ava';
import { creditGrantKind } from '../../../src/kinds/creditgrant/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: creditGrantKind,
  least: { amountUSD: '100.00', source: 'Bootstrap' },
  defaults: [['spec.expirationTime', undefined]],
  limits: [
    { rule: 'the amount is required', within: [], beyond: [['spec.amountUSD', undefined]] },
    { rule: 'the amount is above 0', within: [['spec.amountUSD', '0.01']], beyond: [['spec.amountUSD', '0']] },
    { rule: 'the source is required', within: [], beyond: [['spec.source', undefined]] },
    { rule: 'the source is known', within: [['spec.source', 'Refund']], beyond: [['spec.source', 'Gift']] },
    {
      rule: 'the expiry is a time',
      within: [['spec.expirationTime', '2030-01-01T00:00:00Z']],
      beyond: [['spec.expirationTime', 'tomorrow']],
    },
    {
      rule: 'the note has at most 1024 characters',
      within: [['spec.note', 'a'.repeat(1024)]],
      beyond: [['spec.note', 'a'.repeat(1025)]],
    },
  ],
  immutable: [['spec.amountUSD', '100.00', '200.00']],
  mutable: [],
  raiseOnly: [],
});

test('read-only for customers', (t) => {
  t.deepEqual([...creditGrantKind.operations].toSorted(), ['list', 'read']);
});
