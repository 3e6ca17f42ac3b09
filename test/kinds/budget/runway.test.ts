/** How long a Budget lasts: computed from its figures, and changed by them alone. */
import test from 'ava';
import { longSpan, shortSpan } from '../../../src/api/span.js';
import { budgetKind } from '../../../src/kinds/budget/index.js';
import type { BudgetStatus } from '../../../src/kinds/budget/schema.js';
import type { Message } from '../../../src/kinds/machine.js';
import { at, contextAt, decided, objectOf, type Next, type Stored } from '../decide.js';

const DAY_MS = 86_400_000;
/** When the Budgets of these tests are made. */
const BEGUN = Date.parse('2026-01-01T00:00:00Z');

function spend(spentUSD: string, heldUSD: string, revision: number, period = '2026-01'): Message {
  const from = { address: { org: 'o-1', kind: 'Budget', project: '', name: 'one' }, uid: 'uid-0', version: 0 };
  const content = { type: 'SpendChanged', period, spentUSD, heldUSD, refusing: false, revision } as const;
  return { type: 'MessageReceived', from, content };
}

const put = (stored: Stored, message: Message, now: number): Next =>
  decided(budgetKind, stored, message, contextAt(now));
const made = (spec: object = {}): Next =>
  put(at(objectOf(budgetKind, { limitUSD: '10.00', ...spec })), { type: 'Created' }, BEGUN);
const runwayOf = ({ object }: Stored): string | undefined => (object.status as BudgetStatus).runway;
const cellOf = ({ object }: Stored): unknown => budgetKind.columns.find(({ name }) => name === 'Runway')?.cell(object);

test('what remains lasts as long as it would at the rate of the period so far', (t) => {
  const none = made();
  t.is(runwayOf(none), undefined);
  t.is(cellOf(none), '', 'the cell is empty while nothing is spent');
  t.is(runwayOf(put(none, spend('0.00', '5.00', 1), BEGUN + DAY_MS)), undefined, 'what is held is not spent');
  const some = put(none, spend('2.00', '2.00', 1), BEGUN + DAY_MS);
  t.is(runwayOf(some), '3d', '6.00 of it remain, and 2.00 go in a day');
  t.is(cellOf(some), '3d');
  t.is(runwayOf(put(some, spend('8.00', '0.00', 2), BEGUN + DAY_MS)), '6h');
  t.is(runwayOf(put(some, spend('10.00', '0.00', 2), BEGUN + DAY_MS)), 'none');
  t.is(runwayOf(put(some, spend('0.01', '0.00', 2), BEGUN + DAY_MS)), '>1y');
  t.is(runwayOf(put(some, spend('-1.00', '0.00', 2), BEGUN + DAY_MS)), undefined, 'more was given back');
});

test('a Budget that is made late in a month has the rate since it was made', (t) => {
  const begun = BEGUN + 27 * DAY_MS;
  const late = decided(
    budgetKind,
    at(objectOf(budgetKind, { limitUSD: '60.00' }, { creationTimestamp: new Date(begun).toISOString() })),
    { type: 'Created' },
    contextAt(begun),
  );
  t.is(runwayOf(put(late, spend('15.00', '0.00', 1), begun + 30_000)), '3m', 'its first minute counts whole');
  t.is(runwayOf(put(late, spend('30.00', '0.00', 1), begun + 120_000)), '2m');
});

test('a burst counts by the rate of the last day, also late in a period', (t) => {
  const late = BEGUN + 20 * DAY_MS;
  const first = put(made(), spend('0.10', '0.00', 1), late);
  t.is(runwayOf(first), '>1y');
  const burst = put(first, spend('1.10', '0.00', 2), late + 10 * 60_000);
  t.is(runwayOf(burst), '1h', 'a dollar in ten minutes, and 8.90 remain');
  const next = put(burst, spend('1.20', '0.00', 3), late + 30 * 60 * 60_000);
  t.is(runwayOf(next), '10d', 'the mark is as old as the burst still');
  const calm = put(next, spend('1.21', '0.00', 4), late + 60 * 60 * 60_000);
  t.is(runwayOf(calm), '163d', 'a day and more later it is forgotten');
});

test('a new month begins a new rate, and one over all time has that of all time', (t) => {
  const some = put(made(), spend('2.00', '0.00', 1), BEGUN + DAY_MS);
  const february = BEGUN + 31 * DAY_MS;
  const next = put(some, { type: 'TimerFired', timer: 'period-ends', generation: 0 }, february);
  t.is(runwayOf(next), undefined, 'nothing of it is spent');
  t.is(runwayOf(put(next, spend('1.00', '0.00', 1, '2026-02'), february + DAY_MS)), '9d');
  const total = made({ period: 'Total' });
  t.is(runwayOf(put(total, spend('5.00', '0.00', 1, 'total'), BEGUN + 40 * DAY_MS)), '40d');
});

test('time alone changes nothing of it: where the other figures stay, so does it', (t) => {
  const some = put(made(), spend('2.00', '2.00', 1), BEGUN + DAY_MS);
  const same = put(some, spend('2.00', '2.00', 2), BEGUN + 20 * DAY_MS);
  t.deepEqual(same.object.status, some.object.status);
  const touched = put(some, { type: 'TimerFired', timer: 'refusal-known', generation: 0 }, BEGUN + 20 * DAY_MS);
  t.deepEqual(touched.object.status, some.object.status);
});

test('spans are written in one unit, cut to whole ones', (t) => {
  const minute = 60_000;
  t.deepEqual(
    [0, minute - 1, minute, 59.9 * minute, 60 * minute, 47 * 60 * minute, 365 * DAY_MS, 365 * DAY_MS + 1, Infinity].map(
      shortSpan,
    ),
    ['<1m', '<1m', '1m', '59m', '1h', '1d', '365d', '>1y', '>1y'],
  );
  t.deepEqual([0, minute, 2 * minute, 60 * minute, 3 * DAY_MS, 366 * DAY_MS].map(longSpan), [
    ...['less than a minute', '1 minute', '2 minutes', '1 hour', '3 days', 'more than a year'],
  ]);
});
