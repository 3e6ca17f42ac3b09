/** What a Sandbox holds before it has an Attempt. */
import test from 'ava';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { Message } from '../../../src/kinds/machine.js';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import { FREE_BOOK } from '../../../src/money/price-book.js';
import { at, contextAt, decided, objectOf } from '../decide.js';

const FREE = {
  ...{ perHourUSD: '0', perCpuHourUSD: '0', perGiBMemoryHourUSD: '0', minimumUSD: '0' },
  ...{ incrementSeconds: 1, holdSeconds: 60, reserveSeconds: 60 },
};

test('a Sandbox whose Attempt is refused gives up the money that it held for it', (t) => {
  const offerings = { 'cpu-local': { ...FREE, perCpuHourUSD: '1' } };
  const priced = { ...contextAt(), prices: { ...FREE_BOOK, offerings } };
  const box = objectOf(
    sandboxKind,
    { image: 'svc/agent-tools' },
    { namespace: 'a', creationTimestamp: '2026-01-02T03:04:05Z' },
  );
  const made = decided(sandboxKind, at(box), { type: 'Created' }, priced);
  const placed = made.effects.filter((effect) => effect.type === 'Money' && effect.operation.op === 'Place');
  t.is(placed.length, 1);
  const [effect] = made.effects.filter(({ type }) => type === 'CreateChild') as LaterEffect[];
  if (effect === undefined) return t.fail('no Attempt is asked for');
  for (const reason of ['BudgetExceeded', 'MaxCostReached', 'QuotaExceeded']) {
    const refusedStart = decided(sandboxKind, made, { type: 'EffectFailed', effect, reason, message: 'no' }, priced);
    t.deepEqual(
      refusedStart.effects.filter(({ type }) => type === 'Money'),
      [{ type: 'Money', operation: { op: 'Release', key: 'uid-0/first' } }],
      reason,
    );
  }
  const passing: Message = { type: 'EffectFailed', effect, reason: 'Unavailable', message: 'no' };
  const again = decided(sandboxKind, made, passing, priced);
  t.false(
    again.effects.some(({ type }) => type === 'Money'),
    'what is tried again keeps it',
  );
});
