/** Rules of money that the scenarios do not come by: what is refused as an operation, when a hold is renewed, what is undone, who pays first. */
import test from 'ava';
import { applyMember, thresholdsReached } from '../../src/money/apply.js';
import { availableOn, EMPTY_BOOK, openBook } from '../../src/money/book.js';
import { monthOf, parseCounter } from '../../src/money/counters.js';
import { amountOfHold, capacityIn } from '../../src/money/hold.js';
import { checkOperation, type MoneyOperation } from '../../src/money/operation.js';
import { fundedUntil, renewAt } from '../../src/money/renewal.js';
import { begin, bill, budgetOf, credit, HOUR, MINUTE, MONTH_END, NOON, place, PREPAID, TERMS } from './scenario.js';

test('an operation that no book could carry out is refused by what is wrong with it', (t) => {
  const terms = (change: object): MoneyOperation => place('h', { terms: { ...TERMS, ...change } });
  const wrong: readonly MoneyOperation[] = [
    terms({ minimumUSD: '-1' }),
    terms({ rateUSDPerHour: 'much' }),
    terms({ incrementMs: 0 }),
    terms({ unitMs: 0 }),
    terms({ unitMs: 1.5 }),
    terms({ reserveMs: -1 }),
    { ...bill('h', NOON), segment: 'Lunch' } as unknown as MoneyOperation,
    { ...bill('h', NOON), rateUSDPerHour: '1e3' } as MoneyOperation,
    bill('h', 1.5),
    { op: 'Release', key: 'h', until: Number.NaN },
    { op: 'SetCap', uid: 'u', limitUSD: '-1' },
    budgetOf('b', '1', { selector: '=' }),
    credit('g', '0.0000000001'),
    credit('g', '1', { expires: 0.5 }),
  ];
  for (const operation of wrong)
    t.throws(() => checkOperation(operation), { instanceOf: RangeError }, JSON.stringify(operation));
  const right: readonly MoneyOperation[] = [
    terms({ reserveMs: 0, incrementMs: 1, unitMs: 1 }),
    { ...bill('h', NOON), rateUSDPerHour: '3' } as MoneyOperation,
    { op: 'Release', key: 'h' },
    { op: 'SetCap', uid: 'u', limitUSD: undefined },
    credit('g', '1'),
  ];
  for (const operation of right) t.notThrows(() => checkOperation(operation), JSON.stringify(operation));
});

test('a hold is renewed half a unit before its money ends, or when half of that is over if it is less', (t) => {
  const s = begin(place('h'));
  s.at(NOON, bill('h', NOON));
  t.is(fundedUntil(s.hold('h')), NOON + MINUTE);
  t.is(renewAt(s.hold('h'), NOON), NOON + MINUTE / 2, 'half of one unit');
  t.is(renewAt(s.hold('h'), NOON + 2 * HOUR), NOON + 2 * HOUR, 'at once when it is over');
  s.at(NOON, { op: 'Renew', key: 'h' });
  t.is(fundedUntil(s.hold('h')), NOON + HOUR, 'sixty units, since nothing limits it');
  t.is(renewAt(s.hold('h'), NOON), NOON + HOUR - MINUTE / 2);
  const unit = (ms: number) => {
    const one = begin(place('h', { terms: { ...TERMS, unitMs: ms } }), bill('h', NOON), { op: 'Renew', key: 'h' });
    const until = fundedUntil(one.hold('h')) ?? 0;
    return until - (renewAt(one.hold('h'), NOON) ?? 0);
  };
  t.is(unit(HOUR), HOUR / 2);
  t.is(unit(MINUTE / 1.5), MINUTE / 2, 'long enough for the service to start again');
  t.is(unit(MINUTE / 6), MINUTE / 6, 'never more than a unit');
});

test('a refused renewal is tried again after a minute, whether or not anything is billed', (t) => {
  const s = begin(budgetOf('b', '0.02'), place('h'));
  s.at(NOON, bill('h', NOON));
  t.truthy(s.applied(NOON + MINUTE, { op: 'Renew', key: 'h' }).refusal);
  t.is(renewAt(s.hold('h'), NOON + MINUTE), NOON + 2 * MINUTE);
  const waiting = begin(budgetOf('b', '0.02'), place('w'));
  const early = MONTH_END - 2 * MINUTE;
  t.is(renewAt(waiting.hold('w'), NOON), early, 'its part of the next month comes before that begins');
  t.is(renewAt(waiting.hold('w'), early), MONTH_END);
  waiting.at(early, budgetOf('b', '0.01'));
  t.truthy(waiting.applied(early, { op: 'Renew', key: 'w' }).refusal);
  t.is(renewAt(waiting.hold('w'), early), early + MINUTE);
  const unlimited = begin(place('u'));
  t.is(renewAt(unlimited.hold('u'), NOON), undefined, 'without monthly Budgets it waits as it is');
});

test('work that crosses the end of a month is funded by both months, and charged in each for what it used there', (t) => {
  const start = MONTH_END - 30_000;
  const s = begin(budgetOf('b', '10'));
  s.at(start, place('h'), bill('h', start), { op: 'Renew', key: 'h' });
  const hold = s.hold('h');
  t.is(capacityIn(hold, '2026-11').toFixed(), '0.005', 'half a minute');
  t.is(fundedUntil(hold), start + HOUR);
  t.is(capacityIn(hold, '2026-12').plus('0.005').toFixed(), amountOfHold(hold).toFixed());
  s.at(MONTH_END + MINUTE, { op: 'Renew', key: 'h' });
  t.is(s.spent('budget/b/2026-11'), '0.005');
  t.is(s.spent('budget/b/2026-12'), '0.01');
  t.deepEqual(
    s.hold('h').charged.map(({ segment, period, amountUSD }) => [segment, period, amountUSD]),
    [
      ['Running', '2026-11', '0.005'],
      ['Running', '2026-12', '0.01'],
    ],
  );
  t.is(s.spent('cost/h'), '0.015');
});

test('of grants that end at the same time the one whose name is first pays first, and those without an end pay last', (t) => {
  const end = NOON + HOUR;
  for (const order of [
    ['b', 'a'],
    ['a', 'b'],
  ]) {
    const s = begin(PREPAID, credit('forever', '1'), ...order.map((uid) => credit(uid, '0.01', { expires: end })));
    s.at(NOON, place('h', { terms: { ...TERMS, reserveMs: 0 } }), bill('h', NOON));
    s.at(NOON + 90_000, { op: 'Renew', key: 'h' });
    const left = (uid: string): string | undefined => s.book.grants.get(uid)?.remainingUSD.toFixed();
    t.deepEqual([left('a'), left('b'), left('forever')], ['0', '0.01', '1'], order.join());
  }
});

test('what the service pays after all is given back to the wallet, or was never billed', (t) => {
  for (const prepaid of [true, false]) {
    const s = begin(...(prepaid ? [PREPAID] : []), credit('g', '1'), place('h'));
    s.at(NOON, bill('h', NOON, 'Boot'));
    s.at(NOON + 30_000, bill('h', NOON + 30_000));
    t.is(s.spent('cost/h'), '0.005');
    s.at(NOON + 30_000, { op: 'Release', key: 'h', covered: ['Boot'] });
    t.is(s.spent('cost/h'), '0');
    const balance = s.book.walletUSD.plus(s.book.grants.get('g')?.remainingUSD ?? 0);
    t.is(balance.toFixed(), '1');
    t.is(s.book.walletUSD.isZero(), !prepaid);
  }
});

test('a refused member leaves nothing of any of its operations, and an admitted one has a result for each', (t) => {
  const book = openBook(EMPTY_BOOK);
  const refused = place('too-much', { amountUSD: '5' });
  const before: readonly MoneyOperation[] = [PREPAID, credit('g', '1', { once: 'topup/1' }), budgetOf('b', '2')];
  t.is(applyMember(book, [...before, place('h'), refused], NOON).outcome, 'NotApplied');
  t.deepEqual(
    [book.mode, book.walletUSD.toFixed(), book.once.size, book.grants.size, book.budgets.size, book.holds.size],
    ['Unlimited', '0', 0, 0, 0, 0],
  );
  t.is(book.postings.length, 0);
  const admitted = applyMember(book, [...before, place('h')], NOON);
  t.is(admitted.outcome === 'Applied' && admitted.results.length, 4);
  t.deepEqual([...book.once], ['topup/1']);
  t.is(book.postings.filter(({ reason }) => reason === 'Credit').length, 1);
  const twice = applyMember(book, [credit('other', '1', { once: 'topup/1' })], NOON);
  t.deepEqual(twice.outcome === 'Applied' && twice.results, [{ outcome: 'Nothing', why: 'Once' }]);
  t.is(book.grants.has('other'), false);
});

test('arrears of a refused member are undone as well', (t) => {
  const s = begin(PREPAID, credit('g', '0.02'), place('h'));
  s.at(NOON, bill('h', NOON));
  const before = s.book.walletUSD;
  const release: MoneyOperation = { op: 'Release', key: 'h', covered: ['Running'] };
  s.at(NOON + MINUTE, { op: 'Renew', key: 'h' });
  t.is(applyMember(s.book, [release, place('next', { amountUSD: '9' })], NOON + MINUTE).outcome, 'NotApplied');
  t.is(s.book.walletUSD.toFixed(), before.toFixed());
  t.true(s.book.holds.has('h'));
});

test('a hold is changed on those counters alone of which it has more or less than before', (t) => {
  const s = begin(budgetOf('b', '10'), place('h'));
  const untouched = s.book.counter('budget/b/2026-11');
  const hold = s.hold('h');
  s.book.setHold('h', { ...hold, sequence: 9 });
  t.is(s.book.counter('budget/b/2026-11'), untouched);
  s.book.setHold('h', { ...hold, parts: hold.parts.filter(({ counter }) => !counter.startsWith('budget/')) });
  t.deepEqual([s.held('budget/b/2026-11'), s.book.counter('budget/b/2026-11').holders], ['0', 0]);
  t.deepEqual([s.held('cost/h'), s.book.counter('cost/h').holders], ['0.02', 1]);
  s.book.setHold('h', { ...hold, parts: hold.parts.map((part) => ({ ...part, amountUSD: '0.05' })) });
  t.deepEqual([s.held('budget/b/2026-11'), s.held('cost/h'), s.book.counter('cost/h').holders], ['0.05', '0.05', 1]);
  s.book.setHold('h', undefined);
  t.deepEqual([s.held('cost/h'), s.book.counter('cost/h').holders], ['0', 0]);
});

test('a renewal takes at most half of what is free by the number of holders, and more only to last two units', (t) => {
  // 0.6 an hour: a unit is 0.01, the reserve as much.
  const units = (limitUSD: string, others: number): number => {
    const s = begin(budgetOf('b', limitUSD), place('h'));
    for (let n = 0; n < others; n++) s.at(NOON, place(`other-${n}`));
    s.at(NOON, bill('h', NOON), { op: 'Renew', key: 'h' });
    return ((fundedUntil(s.hold('h')) ?? 0) - NOON) / MINUTE;
  };
  t.is(units('100', 0), 60);
  t.is(units('0.40', 0), 20, 'its own unit, and half of 0.38');
  t.is(units('0.40', 1), 10, 'and a quarter of 0.36 with another one');
  t.is(units('0.04', 0), 2);
  t.is(units('0.03', 0), 2, 'beyond its share');
  t.is(units('0.02', 0), 1, 'what it has');
});

test('counters are read by their names, and a month by any of its days', (t) => {
  t.deepEqual(parseCounter('wallet'), { of: 'Wallet' });
  t.deepEqual(parseCounter('cost/uid-1'), { of: 'Cost', uid: 'uid-1' });
  t.deepEqual(parseCounter('budget/uid-2/total'), { of: 'Budget', uid: 'uid-2', period: 'total' });
  t.deepEqual(parseCounter('budget/uid-2/2026-11'), { of: 'Budget', uid: 'uid-2', period: '2026-11' });
  for (const [at, month] of [
    [MONTH_END - 1, '2026-11'],
    [MONTH_END, '2026-12'],
    [NOON, '2026-11'],
    [0, '1970-01'],
    [Date.UTC(2027, 0, 1), '2027-01'],
    [Date.UTC(2027, 0, 1) - 1, '2026-12'],
  ] as const)
    t.is(monthOf(at), month);
});

test('a Budget of nothing has reached no threshold before anything is spent, and a deleted one reaches none', (t) => {
  const s = begin(budgetOf('b', '0', { action: 'Notify' }));
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), []);
  s.at(NOON, place('h'), bill('h', NOON));
  s.at(NOON + MINUTE, { op: 'Release', key: 'h' });
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), [50, 80, 100]);
  s.at(NOON + MINUTE, { op: 'DropBudget', uid: 'b' });
  t.deepEqual(thresholdsReached(s.book, 'budget/b/2026-11'), []);
  t.is(availableOn(s.book, 'budget/b/2026-11'), undefined);
});
