/** Budgets that are made, lowered or made again while work runs (I7): they count all of it, and bind it at once. */
import test from 'ava';
import { renewAt } from '../../src/money/renewal.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import {
  begin,
  bill,
  budgetOf,
  credit,
  HOUR,
  MINUTE,
  MONTH_END,
  NOON,
  owner,
  place,
  PREPAID,
  TERMS,
} from './scenario.js';

const renew = (key: string): MoneyOperation => ({ op: 'Renew', key });
const release = (key: string): MoneyOperation => ({ op: 'Release', key });
const drop = (uid: string): MoneyOperation => ({ op: 'DropBudget', uid });
const total = (uid: string, limitUSD: string): MoneyOperation => budgetOf(uid, limitUSD, { period: 'Total' });

test('a monthly Budget counts what work uses that is paid for an hour ahead, however often it is made again', (t) => {
  const s = begin(budgetOf('b-0', '9'));
  s.applied(NOON, place('j'), bill('j', NOON), renew('j'));
  t.is(s.held('budget/b-0/2026-11'), '0.61');
  for (let i = 1; i <= 5; i++) s.at(NOON + i * 10 * MINUTE, drop(`b-${i - 1}`), budgetOf(`b-${i}`, '9'));
  t.is(s.spent('budget/b-5/2026-11'), '0', 'nothing was posted');
  s.applied(NOON + HOUR, release('j'));
  t.is(s.spent('budget/b-5/2026-11'), '0.6', 'all that the month used');
  t.is(s.held('budget/b-5/2026-11'), '0');
});

test('a total Budget counts what is used since it was made, to the millisecond, and no other scope', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON), renew('j'));
  s.at(NOON + 10 * MINUTE, total('b', '9'), budgetOf('other', '9', { project: 'q' }));
  s.at(NOON + 20 * MINUTE, total('c', '9'));
  s.applied(NOON + 30 * MINUTE, renew('j'));
  t.deepEqual([s.spent('budget/b/total'), s.spent('budget/c/total')], ['0.2', '0.1']);
  t.deepEqual([s.held('budget/b/total'), s.held('budget/c/total')], ['0.61', '0.61']);
  t.is(s.spent('budget/other/2026-11'), '0');
  s.applied(NOON + 40 * MINUTE, release('j'));
  t.deepEqual([s.spent('cost/j'), s.spent('budget/b/total'), s.spent('budget/c/total')], ['0.4', '0.3', '0.2']);
});

test('a monthly Budget counts no use of the months before it was made', (t) => {
  const s = begin();
  const start = MONTH_END - 10 * MINUTE;
  s.applied(start, place('j'), bill('j', start), renew('j'));
  s.at(MONTH_END + 10 * MINUTE, budgetOf('b', '9'));
  s.applied(MONTH_END + 20 * MINUTE, renew('j'));
  t.deepEqual([s.spent('budget/b/2026-11'), s.spent('budget/b/2026-12')], ['0', '0.2']);
});

test('a Budget with room for the least of all work that runs stops none of it: each gives back what it has far ahead first', (t) => {
  const s = begin(total('b', '10'));
  for (const key of ['j', 'k', 'l']) s.applied(NOON, place(key), bill(key, NOON), renew(key));
  t.is(s.held('budget/b/total'), '1.83');
  s.at(NOON, total('b', '0.1'));
  for (const key of ['j', 'k', 'l']) t.is(s.applied(NOON, renew(key)).refusal, undefined, key);
  t.is(renewAt(s.hold('j'), NOON), NOON + 2_000);
  for (const key of ['j', 'k', 'l']) t.is(s.applied(NOON + 2_000, renew(key)).refusal, undefined, key);
  t.true(Number(s.held('budget/b/total')) <= 0.1, s.held('budget/b/total'));
  t.is(s.hold('j').squeezed, undefined);
});

test('what gives back for want of room is refused at the next renewal, keeps its reserve, and counts where its money came from', (t) => {
  const s = begin(credit('g', '5'));
  s.applied(NOON, place('j'), bill('j', NOON), renew('j'));
  s.at(NOON, PREPAID, total('b', '0.001'));
  t.is(s.applied(NOON, renew('j')).funding, undefined);
  t.is(s.held('budget/b/total'), '0.03', 'two units and the reserve');
  t.like(s.applied(NOON + 2_000, renew('j')), { funding: 'Refused', fundedUntil: NOON + 2_000 });
  t.is(renewAt(s.hold('j'), NOON + 2_000), NOON + 2_000 + MINUTE);
  s.applied(NOON + 32_000, release('j'));
  t.is(s.spent('budget/b/total'), s.spent('cost/j'));
  t.deepEqual(
    s.book.postings.flatMap(({ lines }) => lines.map(({ account }) => account)).filter((one) => one === 'grants/g'),
    ['grants/g'],
    'the credit alone: what was held before payments began is not taken from it',
  );
});

test('a hold that another Budget refuses in a new month stays bound by those that it had a part of before', (t) => {
  const s = begin(budgetOf('b', '9'));
  s.applied(NOON, place('j', { terms: { ...TERMS, rateUSDPerHour: '0', minimumUSD: '2.5' } }), bill('j', NOON));
  s.at(MONTH_END + MINUTE, total('c', '0.001'), renew('j'));
  const counters = s.hold('j').parts.map(({ counter }) => counter);
  t.true(counters.includes('budget/b/2026-12'), counters.join(' '));
  t.true(counters.includes('budget/c/total'), counters.join(' '));
});

test('what the wallet has refused is not said to have money because it gives back for a Budget', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON), renew('j'));
  s.at(NOON, PREPAID);
  t.like(s.applied(NOON, renew('j')), { funding: 'Refused', fundedUntil: NOON + HOUR });
  s.at(NOON, total('b', '0.001'));
  t.like(s.applied(NOON, renew('j')), { funding: undefined, fundedUntil: NOON, refusal: { by: 'Wallet' } });
});

test('work that waits keeps its first hold under a new Budget without room for it, which counts it', (t) => {
  const s = begin();
  s.applied(NOON, place('j'));
  s.at(NOON, total('b', '0.01'));
  t.like(s.applied(NOON, renew('j')).refusal, { uid: 'b', neededUSD: '0.02' });
  t.is(s.held('budget/b/total'), '0.02');
  t.like(s.at(NOON, place('k')), { outcome: 'Refused', uid: 'b', availableUSD: '0.00' });
  s.applied(NOON, release('j'));
  t.is(s.held('budget/b/total'), '0');
});

test('holds are to be renewed for a new Budget and for one that has less than nothing, and for no other change of one', (t) => {
  const s = begin();
  const rebindAt = (): number | undefined => s.book.budgets.get('b')?.rebindAt;
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, total('b', '9'));
  t.is(rebindAt(), NOON);
  s.applied(NOON, renew('j'));
  s.at(NOON + 1, budgetOf('b', '10', { period: 'Total' }), total('b', '2'), total('b', '2'));
  t.is(rebindAt(), NOON, 'as it was');
  s.at(NOON + 2, budgetOf('b', '0.5', { period: 'Total', action: 'Notify' }));
  t.is(rebindAt(), NOON, 'it refuses nothing');
  s.at(NOON + 3, total('b', '0.5'));
  t.is(rebindAt(), NOON + 3);
  s.at(NOON + 4, budgetOf('b', '0.5', { period: 'Total', thresholds: [1] }));
  t.is(rebindAt(), NOON + 3, 'thresholds bind nothing');
  s.at(NOON + 5, budgetOf('b', '0.5', { period: 'Total', selector: 'team=x' }));
  t.is(rebindAt(), NOON + 5);
  t.is(s.book.budgets.get('b')?.made, NOON);
});

test('a correction counts in a monthly Budget that began with its use', (t) => {
  const s = begin();
  s.applied(NOON, place('j', { payer: { project: 'p', labels: {}, costs: [owner('j')] } }), bill('j', NOON));
  s.applied(NOON + MINUTE, release('j'));
  s.at(NOON + MINUTE, budgetOf('b', '1'), budgetOf('t', '1', { period: 'Total' }));
  const [use] = s.book.postings;
  if (use === undefined) return t.fail('nothing was charged');
  s.book.setCorrected(use.key, {
    ...{ period: use.period, counters: use.counters, usage: { project: 'p', labels: {} }, owner: 'j' },
    ...{ segment: 'Running', amountUSD: use.amountUSD, paid: false },
  });
  s.applied(NOON + MINUTE, { op: 'Correct', posting: use.key, amountUSD: '-0.004', once: 'x' });
  t.deepEqual([s.spent('cost/j'), s.spent('budget/b/2026-11'), s.spent('budget/t/total')], ['0.006', '0.006', '0']);
});
