/** Both sides of every rule of CreditGrant, which the service alone writes. */
import test from 'ava';
import { creditGrantKind } from '../../../src/kinds/creditgrant/index.js';
import { at, contextAt, decided, objectOf, type Next, type Stored } from '../decide.js';
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

const told = (one: Stored, remainingUSD: string): Next =>
  decided(creditGrantKind, one, {
    type: 'MessageReceived',
    from: { address: { org: 'o-1', kind: 'CreditGrant', project: '', name: 'one' }, uid: 'uid-0', version: 0 },
    content: { type: 'CreditsChanged', remainingUSD },
  });

test('it is credited in the commit that makes it, and what is left goes at its end', (t) => {
  const expirationTime = '2026-02-01T00:00:00Z';
  const expires = Date.parse(expirationTime);
  const kind = creditGrantKind;
  const one = decided(kind, at(objectOf(kind, { amountUSD: '5', source: 'Promo', expirationTime })), {
    type: 'Created',
  });
  t.deepEqual(one.effects, [
    { type: 'Money', operation: { op: 'Credit', grant: 'uid-0', name: 'one', amountUSD: '5', expires } },
    { type: 'ArmTimer', timer: 'expire', at: expires },
  ]);
  t.deepEqual(one.object.status, { phase: 'Active', remainingUSD: '5.00' });
  const fired = { type: 'TimerFired', timer: 'expire', generation: 1 } as const;
  t.deepEqual(decided(kind, one, fired, contextAt(expires - 1)).effects, [one.effects[1]], 'too early');
  const ended = decided(kind, one, fired, contextAt(expires));
  t.deepEqual(ended.effects, [{ type: 'Money', operation: { op: 'Expire' } }]);
  t.deepEqual(ended.object.status, { phase: 'Expired', remainingUSD: '5.00' }, 'what is held goes later');
  t.deepEqual(told(ended, '0.000000000').object.status, { phase: 'Expired', remainingUSD: '0.00' });
});

test('it shows what the ledger says is left of it, and is used when nothing is', (t) => {
  const one = decided(creditGrantKind, at(objectOf(creditGrantKind, { amountUSD: '5', source: 'Promo' })), {
    type: 'Created',
  });
  const some = told(one, '4.987654321');
  t.deepEqual(some.object.status, { phase: 'Active', remainingUSD: '4.987654321' });
  t.deepEqual(told(some, '0.000000000').object.status, { phase: 'Used', remainingUSD: '0.00' });
});
