/** The rules of holds, Budgets and charges, each by a scenario on the pure book. */
import test from 'ava';
import { applyMember, thresholdsReached } from '../../src/money/apply.js';
import { availableOn, EMPTY_BOOK, openBook, UnbalancedPostingError } from '../../src/money/book.js';
import { WALLET } from '../../src/money/counters.js';
import { amountOfHold, chargedOf, firstAmount } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import { checkOperation, type MoneyOperation } from '../../src/money/operation.js';
import { countersOf } from '../../src/money/payer.js';
import { fundedUntil, renewAt } from '../../src/money/renewal.js';
import { amountOf, showUSD, USD, ZERO } from '../../src/money/usd.js';
import { begin, bill, budgetOf, HOUR, MINUTE, MONTH_END, NOON, owner, place, TERMS } from './scenario.js';

test('a hold is placed, billed, renewed and released, and what is spent is the time at the rate', (t) => {
  const s = begin(budgetOf('b', '10'));
  s.applied(NOON, place('j'));
  t.is(s.held('budget/b/2026-11'), '0.02');
  t.is(s.held('cost/j'), '0.02');
  t.is(s.applied(NOON + 5_000, bill('j', NOON, 'Boot')).fundedUntil, NOON + MINUTE);
  s.applied(NOON + 10_000, bill('j', NOON + 10_000));
  const renewed = s.applied(NOON + 30_000, { op: 'Renew', key: 'j' });
  t.is(renewed.fundedUntil, NOON + 30_000 + HOUR, 'sixty units, since money is plenty');
  t.is(s.spent('cost/j'), '0.005');
  t.is(s.held('cost/j'), '0.61', 'an hour and the reserve');
  s.applied(NOON + 40_000, { op: 'Release', key: 'j' });
  t.is(s.spent('budget/b/2026-11'), '0.006666667');
  t.is(s.held('budget/b/2026-11'), '0');
  t.is(s.book.counter('cost/j').holders, 0);
  t.is(s.book.counter('cost/j').segments.Boot?.toFixed(), '0.001666667');
  t.deepEqual(s.book.holds.size, 0);
});

test('a hold that passes a Budget is refused with what is free, and what fits exactly is admitted', (t) => {
  const s = begin(budgetOf('b', '0.03'));
  s.applied(NOON, place('j'));
  t.deepEqual(s.at(NOON, place('k')), {
    ...{
      outcome: 'Refused',
      key: 'k',
      by: 'Budget',
      uid: 'b',
      name: 'name of b',
      counter: 'budget/b/2026-11',
      limitUSD: '0.03',
      availableUSD: '0.01',
      neededUSD: '0.02',
    },
    resetTime: MONTH_END,
  });
  t.is(s.applied(NOON, place('k', { amountUSD: '0.01' })).outcome, 'Applied');
  t.is(availableOn(s.book, 'budget/b/2026-11')?.toFixed(), '0');
  t.is(s.at(NOON, place('l', { amountUSD: '0.000000001' })).outcome, 'Refused');
});

test('of several counters that lack money the one that lacks most is named', (t) => {
  const s = begin(budgetOf('b', '0.015'), { op: 'SetCap', uid: 'j', limitUSD: '0.005' });
  t.like(s.at(NOON, place('j')), { outcome: 'Refused', by: 'Cap', uid: 'j', availableUSD: '0.005' });
  s.at(NOON, { op: 'SetCap', uid: 'j', limitUSD: undefined });
  t.like(s.at(NOON, place('j')), { outcome: 'Refused', by: 'Budget' });
  t.is(s.held('budget/b/2026-11'), '0', 'a refused hold leaves no trace');
});

test('a cap of a parent counts all its children', (t) => {
  const payer = (uid: string) => ({ project: 'p', labels: {}, costs: [owner(uid), owner('sweep')] });
  const s = begin({ op: 'SetCap', uid: 'sweep', limitUSD: '0.05' });
  const results = ['a', 'b', 'c'].map((key) => s.at(NOON, place(key, { payer: payer(key) })).outcome);
  t.deepEqual(results, ['Applied', 'Applied', 'Refused']);
  t.is(s.held('cost/sweep'), '0.04');
});

test('a Notify Budget counts and never refuses', (t) => {
  const s = begin(budgetOf('n', '0.01', { action: 'Notify' }));
  for (const key of ['a', 'b', 'c']) s.applied(NOON, place(key));
  t.is(s.held('budget/n/2026-11'), '0.06');
  s.applied(NOON, bill('a', NOON));
  s.applied(NOON + MINUTE, { op: 'Renew', key: 'a' });
  t.deepEqual(thresholdsReached(s.book, 'budget/n/2026-11'), [50, 80, 100]);
});

test('a Budget binds the projects and labels of its scope, at admission', (t) => {
  const budgets: BudgetLimit[] = [
    { uid: 'all', name: 'a', limitUSD: '1', action: 'Block', period: 'Monthly', thresholds: [] },
    { uid: 'p', name: 'p', limitUSD: '1', action: 'Notify', period: 'Total', project: 'p', thresholds: [] },
    {
      uid: 'x',
      name: 'x',
      limitUSD: '1',
      action: 'Block',
      period: 'Total',
      selector: 'team in (x,y),!free',
      thresholds: [],
    },
  ];
  const names = (project: string, labels: Record<string, string>) =>
    countersOf({ project, labels, costs: [owner('j'), owner('s')] }, budgets, NOON);
  t.deepEqual(names('p', { team: 'x' }), [
    'cost/j',
    'cost/s',
    'budget/all/2026-11',
    'budget/p/total',
    'budget/x/total',
    WALLET,
  ]);
  t.deepEqual(names('q', { team: 'x', free: '1' }), ['cost/j', 'cost/s', 'budget/all/2026-11', WALLET]);
});

test('a Budget that is made under running work counts it from then on, and what does not fit in it ends on its reserve', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, budgetOf('late', '0.01', { period: 'Total' }));
  t.is(s.held('budget/late/total'), '0');
  const refused = s.applied(NOON + 30_000, { op: 'Renew', key: 'j' });
  t.like(refused.refusal, { by: 'Budget', uid: 'late', availableUSD: '0.005', neededUSD: '0.02' });
  t.is(refused.funding, 'Refused');
  t.is(refused.fundedUntil, NOON + 30_000);
  t.deepEqual([s.spent('budget/late/total'), s.held('budget/late/total')], ['0.005', '0.01']);
  s.at(NOON + 31_000, budgetOf('late', '5', { period: 'Total' }));
  const restored = s.applied(NOON + 40_000, { op: 'Renew', key: 'j' });
  t.is(restored.funding, 'Restored');
  t.is(s.held('budget/late/total'), '0.61');
  t.is(s.applied(NOON + 50_000, { op: 'Renew', key: 'j' }).funding, undefined, 'it is said once');
});

test('a new monthly Budget begins with what its scope used in this month, so to delete and make it again is not free', (t) => {
  const s = begin(budgetOf('b', '0.05'));
  s.applied(NOON, place('j', { payer: { project: 'p', labels: { team: 'x' }, costs: [owner('j')] } }), bill('j', NOON));
  s.applied(NOON + 2 * MINUTE, { op: 'Renew', key: 'j' }, { op: 'Release', key: 'j' });
  t.is(s.spent('budget/b/2026-11'), '0.02');
  s.at(NOON + HOUR, { op: 'DropBudget', uid: 'b' }, budgetOf('again', '0.05'));
  s.at(NOON + HOUR, budgetOf('other', '0.05', { selector: 'team=y' }), budgetOf('total', '0.05', { period: 'Total' }));
  t.is(s.spent('budget/again/2026-11'), '0.02');
  t.is(s.spent('budget/other/2026-11'), '0');
  t.is(s.spent('budget/total/total'), '0');
  s.at(NOON + HOUR, budgetOf('again', '0.06'));
  t.is(s.spent('budget/again/2026-11'), '0.02', 'once, and not at each change');
});

test('a Budget below what is spent already refuses all, and a deleted one binds nothing though holds name it', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' });
  s.at(NOON + MINUTE, budgetOf('b', '0.000000001'));
  t.like(s.at(NOON + MINUTE, place('k')), { outcome: 'Refused', availableUSD: '0.00' });
  t.is(s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' }).refusal, undefined, 'it gives back what it has far ahead');
  t.is(s.held('budget/b/2026-11'), '0.03');
  t.like(s.applied(NOON + 2 * MINUTE, { op: 'Renew', key: 'j' }).refusal, { uid: 'b' });
  t.is(s.held('budget/b/2026-11'), '0.01', 'its reserve');
  s.at(NOON + 2 * MINUTE, { op: 'DropBudget', uid: 'b' });
  s.applied(NOON + 2 * MINUTE, place('k'));
  t.is(s.applied(NOON + 3 * MINUTE, { op: 'Renew', key: 'j' }).refusal, undefined);
});

test('a Budget that is deleted while holds name it keeps their counters, and they end as they began', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, { op: 'DropBudget', uid: 'b' });
  t.is(s.held('budget/b/2026-11'), '0.02');
  s.applied(NOON + 30_000, { op: 'Release', key: 'j' });
  t.is(s.held('budget/b/2026-11'), '0');
  t.is(s.spent('budget/b/2026-11'), '0.005');
});

test('a lowered Budget ends running work on its reserve, and a raised one lets it go on', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, budgetOf('b', '0.01'));
  t.like(s.applied(NOON + 10_000, { op: 'Renew', key: 'j' }), { funding: 'Refused', fundedUntil: NOON + 10_000 });
  t.is(s.applied(NOON + 20_000, { op: 'Renew', key: 'j' }).funding, undefined, 'it is said once');
  s.at(NOON + 20_000, budgetOf('b', '1'));
  t.is(s.applied(NOON + 30_000, { op: 'Renew', key: 'j' }).funding, 'Restored');
});

test('a charge never exceeds what its hold has, and the service pays the rest', (t) => {
  const s = begin(budgetOf('b', '0.02'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + 2 * HOUR, { op: 'Release', key: 'j' });
  t.is(s.spent('budget/b/2026-11'), '0.02');
  t.deepEqual(s.book.counter('cost/j').covered, ['Running']);
  t.is(s.book.postings[0]?.coveredUSD.toFixed(), '1.18');
});

test('at a month’s end a charge is split, each part counts in its own month, and the hold has a part of the next one before', (t) => {
  const s = begin(budgetOf('b', '0.7'));
  const start = MONTH_END - 20 * MINUTE;
  s.applied(start, place('j'), bill('j', start));
  s.applied(start + 30_000, { op: 'Renew', key: 'j' });
  t.is(s.held('budget/b/2026-11'), '0.195', 'until the end of the month');
  t.is(s.held('budget/b/2026-12'), '0.345', 'half of what is free, in whole units');
  t.is(s.held('cost/j'), '0.54');
  // The timer is late by two minutes.
  s.applied(MONTH_END + 2 * MINUTE, { op: 'Renew', key: 'j' });
  t.is(s.spent('budget/b/2026-11'), '0.2');
  t.is(s.spent('budget/b/2026-12'), '0.02');
  t.is(s.held('budget/b/2026-11'), '0');
  t.deepEqual(
    s.book.postings.map(({ period, amountUSD }) => [period, amountUSD.toFixed()]),
    [
      ['2026-11', '0.005'],
      ['2026-11', '0.195'],
      ['2026-12', '0.02'],
    ],
  );
});

test('a full next month does not stop what this month pays for, and no use of it is charged there', (t) => {
  const s = begin(budgetOf('b', '0.1'));
  const start = MONTH_END - 3 * MINUTE;
  s.applied(start, place('j'), bill('j', start));
  s.at(start, {
    op: 'SetBudget',
    budget: { uid: 'd', name: 'd', limitUSD: '0.02', action: 'Block', period: 'Monthly', thresholds: [] },
  });
  t.like(s.applied(start + 30_000, { op: 'Renew', key: 'j' }).refusal, { uid: 'd' });
  s.applied(MONTH_END + 5 * MINUTE, { op: 'Release', key: 'j' });
  t.is(s.spent('budget/b/2026-11'), '0.02');
  t.is(s.spent('budget/b/2026-12'), '0', 'it has no part of December');
});

test('work that waits over a month’s end has its part of the new month before it begins', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, place('j'));
  const due = renewAt(s.hold('j'), NOON) ?? 0;
  t.is(due, MONTH_END - 2 * MINUTE);
  s.applied(due, { op: 'Renew', key: 'j' });
  t.is(s.held('budget/b/2026-12'), '0.02');
  t.is(s.held('cost/j'), '0.02');
  t.is(renewAt(s.hold('j'), due), MONTH_END);
  s.applied(MONTH_END, { op: 'Renew', key: 'j' });
  t.is(s.held('budget/b/2026-11'), '0');
  s.applied(MONTH_END + MINUTE, bill('j', MONTH_END + MINUTE));
  s.applied(MONTH_END + 2 * MINUTE, { op: 'Release', key: 'j' });
  t.is(s.spent('budget/b/2026-12'), '0.01');
});

test('where money is not plenty a renewal takes at most half of what is free, shared by the living holds', (t) => {
  const s = begin(budgetOf('b', '0.5'));
  for (const key of ['j', 'k']) s.applied(NOON, place(key), bill(key, NOON));
  const renewed = s.applied(NOON, { op: 'Renew', key: 'j' });
  // 0.46 are free: a quarter is 0.115, eleven minutes beside the one that it has.
  t.is(renewed.fundedUntil, NOON + 12 * MINUTE);
  t.is(s.held('budget/b/2026-11'), '0.15');
});

test('with little left a renewal takes two units, then one, and with less it is refused and keeps what it has', (t) => {
  const s = begin(budgetOf('b', '0.03'));
  s.applied(NOON, place('j'), bill('j', NOON));
  t.is(s.applied(NOON, { op: 'Renew', key: 'j' }).fundedUntil, NOON + 2 * MINUTE);
  t.is(s.applied(NOON + 30_000, { op: 'Renew', key: 'j' }).fundedUntil, NOON + 2 * MINUTE);
  t.is(s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' }).refusal, undefined, 'one unit is left');
  const refused = s.applied(NOON + MINUTE + 1_000, { op: 'Renew', key: 'j' });
  t.is(refused.refusal?.by, 'Budget');
  t.is(refused.fundedUntil, NOON + 2 * MINUTE);
  t.is(renewAt(s.hold('j'), NOON + MINUTE + 1_000), NOON + 2 * MINUTE + 1_000, 'should nothing wake it before');
});

test('a renewal, an end or a segment of a hold that is gone does nothing and says so, and so does a renewal of one that moved on', (t) => {
  const s = begin();
  const nothing = { outcome: 'Nothing', why: 'Gone' } as const;
  for (const operation of [{ op: 'Renew', key: 'x' }, { op: 'Release', key: 'x' }, bill('x', NOON)] as const)
    t.deepEqual(s.at(NOON, operation), nothing);
  s.applied(NOON, place('j'), bill('j', NOON));
  t.deepEqual(s.at(NOON, { op: 'Renew', key: 'j', sequence: 1 }), { outcome: 'Nothing', why: 'MovedOn' });
  t.is(s.at(NOON, { op: 'Renew', key: 'j', sequence: 2 }).outcome, 'Applied');
});

test('a key that stands refuses its member whole', (t) => {
  const s = begin();
  s.applied(NOON, place('j'));
  const result = applyMember(s.book, [place('k'), { op: 'SetCap', uid: 'c', limitUSD: '1' }, place('j')], NOON);
  t.deepEqual(result, { outcome: 'NotApplied', refusal: { outcome: 'DuplicateKey', key: 'j' } });
  t.deepEqual([...s.book.holds.keys()], ['j']);
  t.is(s.book.caps.size, 0);
});

test('the first Attempt takes the place of the first hold in one step, also where only one of them fits', (t) => {
  const s = begin(budgetOf('b', '0.02'));
  s.applied(NOON, place('u/first'));
  t.is(s.at(NOON, place('u/0')).outcome, 'Refused');
  s.applied(NOON, place('u/0', { replaces: 'u/first' }));
  t.deepEqual([...s.book.holds.keys()], ['u/0']);
  t.is(s.spent('budget/b/2026-11'), '0');
  t.like(s.at(NOON, place('u/1', { replaces: 'u/0', amountUSD: '1' })), { outcome: 'Refused' });
  t.deepEqual([...s.book.holds.keys()], ['u/0'], 'a refused hold gives nothing back');
});

test('the minimum and whole increments are charged once, at the end, as Teardown', (t) => {
  const terms = { ...TERMS, incrementMs: MINUTE, minimumUSD: '0.05' };
  const s = begin();
  t.is(firstAmount(terms).toFixed(), '0.06');
  s.applied(NOON, place('j', { terms }), bill('j', NOON, 'Boot'), bill('j', NOON));
  s.applied(NOON + 90_000, bill('j', NOON + 61_000, 'Teardown'), { op: 'Release', key: 'j' });
  t.is(s.spent('cost/j'), '0.05');
  t.is(s.book.counter('cost/j').segments.Running?.toFixed(), '0.010166667');
  s.applied(NOON, place('k', { terms: { ...terms, minimumUSD: '0' } }), bill('k', NOON));
  s.applied(NOON + 30_000, { op: 'Renew', key: 'k' });
  s.applied(NOON + 61_000, { op: 'Release', key: 'k' });
  t.is(s.spent('cost/k'), '0.02', 'two increments of a minute');
  s.applied(NOON, place('l', { terms }), { op: 'Release', key: 'l' });
  t.is(s.spent('cost/l'), '0', 'nothing was billed');
});

test('billing begins no earlier than the hold, no later than now, and never twice over the same time', (t) => {
  const s = begin();
  s.applied(NOON, place('j'));
  s.applied(NOON + 10_000, bill('j', NOON - HOUR, 'Boot'));
  t.is(s.hold('j').billing?.since, NOON);
  s.applied(NOON + 10_000, bill('j', NOON + HOUR));
  t.is(s.hold('j').billing?.since, NOON + 10_000);
  s.applied(NOON + 20_000, { op: 'Renew', key: 'j' }, bill('j', NOON + 5_000, 'Teardown'));
  t.is(s.hold('j').billing?.since, NOON + 20_000);
  s.applied(NOON + 30_000, { op: 'Release', key: 'j', until: NOON });
  t.is(s.spent('cost/j'), '0.003333333');
});

test('segments that the service pays are not charged, and what was charged for them is given back', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, place('j'), bill('j', NOON, 'Boot'));
  s.applied(NOON + 30_000, { op: 'Renew', key: 'j' }, bill('j', NOON + 30_000));
  t.is(chargedOf(s.hold('j')).toFixed(), '0.005');
  s.applied(NOON + 60_000, bill('j', NOON + 60_000, 'Teardown'));
  s.applied(NOON + 90_000, { op: 'Release', key: 'j', covered: ['Boot', 'Teardown'] });
  t.is(s.spent('budget/b/2026-11'), '0.005', 'Running alone');
  t.deepEqual(s.book.counter('cost/j').covered.toSorted(), ['Boot', 'Teardown']);
  t.deepEqual(s.book.postings.at(-1)?.reason, 'Refund');
  const teardown = s.book.postings.filter(({ segment }) => segment === 'Teardown');
  t.deepEqual(
    teardown.map(({ amountUSD, coveredUSD }) => [amountUSD.toFixed(), coveredUSD.toFixed()]),
    [['0', '0.005']],
    'it is not charged first',
  );
});

test('the funded time leaves the reserve out and counts whole increments alone', (t) => {
  const s = begin();
  s.applied(NOON, place('j', { amountUSD: '0.035' }), bill('j', NOON));
  t.is(fundedUntil(s.hold('j')), NOON + 150_000);
  s.applied(NOON, place('k', { amountUSD: '0.035', terms: { ...TERMS, incrementMs: MINUTE } }), bill('k', NOON));
  t.is(fundedUntil(s.hold('k')), NOON + 2 * MINUTE);
  t.is(amountOfHold(s.hold('k')).toFixed(), '0.035');
});

test('a threshold is reached at exactly its percent of the limit', (t) => {
  const s = begin(budgetOf('b', '0.02'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + 59_999, { op: 'Renew', key: 'j' });
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), []);
  s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' });
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), [50]);
  s.at(NOON + MINUTE, budgetOf('b', '0.0125'));
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), [50, 80], 'by a lowered limit as well');
});

test('a posting whose lines do not add up to zero is not made, however small the difference', (t) => {
  const book = openBook(EMPTY_BOOK);
  const line = (account: string, amountUSD: string) => ({ account, amountUSD: new USD(amountUSD) });
  const posting = {
    ...{ key: 'p', reason: 'Use' as const, period: '2026-11', counters: [], amountUSD: ZERO, coveredUSD: ZERO },
    lines: [line('a', '99999999999.000000001'), line('b', '-99999999999')],
  };
  t.throws(() => book.post(posting), { instanceOf: UnbalancedPostingError, message: /0\.000000001/ });
  t.is(book.postings.length, 0);
});

test('amounts are exact, at most nine decimals when they are made, and shown with at least two', (t) => {
  for (const wrong of ['-1', '1e3', 'Infinity', 'NaN', '0.0000000001', '100000000000', '', '.5', '1.'])
    t.throws(() => amountOf(wrong), { instanceOf: RangeError }, wrong);
  t.is(amountOf('99999999999.999999999').toFixed(), '99999999999.999999999');
  t.throws(() => new USD('0.0000000005'), { instanceOf: RangeError });
  const thirds = [1, 2].flatMap((n) =>
    (['HalfUp', 'Up', 'Down'] as const).map((way) => new USD(n).dividedBy(3, way).toFixed()),
  );
  t.deepEqual(thirds, ['0.333333333', '0.333333334', '0.333333333', '0.666666667', '0.666666667', '0.666666666']);
  t.is(new USD('0.000000003').dividedBy(2, 'HalfUp').toFixed(), '0.000000002');
  t.deepEqual(
    ['-0.5', '-12.000000007', '100', '-0'].map((amount) => new USD(amount).toFixed()),
    ['-0.5', '-12.000000007', '100', '0'],
  );
  const shown = ['0', '1.5', '1.250', '0.000000001', '1234567890.1'].map((amount) => showUSD(new USD(amount)));
  t.deepEqual(shown, ['0.00', '1.50', '1.25', '0.000000001', '1234567890.10']);
});

test('an operation that no book can carry out is refused before it reaches one', (t) => {
  const wrong: readonly MoneyOperation[] = [
    place('j', { amountUSD: '0.0000000001' }),
    place('j', { terms: { ...TERMS, incrementMs: 0 } }),
    place('j', { terms: { ...TERMS, rateUSDPerHour: '-1' } }),
    place('j', { terms: { ...TERMS, reserveMs: 0.5 } }),
    bill('j', Number.NaN),
    budgetOf('b', '1e3'),
    budgetOf('b', '1', { selector: 'a in' }),
    { op: 'SetCap', uid: 'u', limitUSD: '-1' },
    { op: 'Credit', grant: 'g', amountUSD: 'x' },
  ];
  for (const operation of wrong)
    t.throws(() => checkOperation(operation), { instanceOf: RangeError }, JSON.stringify(operation));
});

test('what is given back counts where its charge did, and where a Budget that was made since began with it', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON), { op: 'Renew', key: 'j' });
  s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' }, budgetOf('b', '9', { period: 'Total' }), budgetOf('m', '9'));
  t.is(s.spent('budget/m/2026-11'), '0.01');
  s.applied(NOON + 2 * MINUTE, { op: 'Renew', key: 'j' });
  s.applied(NOON + 3 * MINUTE, { op: 'Renew', key: 'j' });
  t.is(s.spent('budget/b/total'), '0.02', 'the minutes since it was made');
  s.applied(NOON + 3 * MINUTE, { op: 'Release', key: 'j', covered: ['Running'] });
  t.is(s.spent('cost/j'), '0');
  t.is(s.spent('budget/b/total'), '0');
  t.is(s.spent('budget/m/2026-11'), '0');
});
