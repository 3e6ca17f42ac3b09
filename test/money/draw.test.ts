/** Requests to models draw on blocks: what is charged, what is held next, and what binds it (I7). */
import test from 'ava';
import { BLOCK_TERMS } from '../../src/money/draw.js';
import { checkOperation, type Drawn, type ModelUse, type MoneyOperation } from '../../src/money/operation.js';
import { renewAt } from '../../src/money/renewal.js';
import { begin, bill, budgetOf, credit, MINUTE, MONTH_END, NOON, place, PREPAID, type Scenario } from './scenario.js';

const KEY = 'block/1/e/1';
const block = (amountUSD: string): MoneyOperation => place(KEY, { terms: BLOCK_TERMS, amountUSD });
const draw = (number: number, usedUSD: string, holdUSD: string, use?: ModelUse): MoneyOperation => ({
  ...{ op: 'Draw', key: KEY, draw: number, usedUSD, holdUSD, use },
});
const total = (uid: string, limitUSD: string): MoneyOperation => budgetOf(uid, limitUSD, { period: 'Total' });
const USE: ModelUse = { uid: 'e', requests: 3, errors: 1, inputTokens: 20, outputTokens: 10 };

function drawn(s: Scenario, now: number, ...operations: MoneyOperation[]): Omit<Drawn, 'counters'> {
  const { drawn: found } = s.applied(now, ...operations);
  if (found === undefined) throw new Error('it was no draw');
  return { chargedUSD: found.chargedUSD, heldUSD: found.heldUSD };
}

test('what requests used is charged once, counted with its cost, and the block holds what it is told from then on', (t) => {
  const s = begin(budgetOf('b', '5'));
  s.applied(NOON, block('1'));
  t.deepEqual(drawn(s, NOON, draw(1, '0.4', '0.9', USE)), { chargedUSD: '0.4', heldUSD: '0.9' });
  for (const again of [draw(1, '0.4', '0.9', USE), draw(3, '0.4', '0.9', USE)])
    t.deepEqual(s.at(NOON, again), { outcome: 'Nothing', why: 'MovedOn' });
  for (const counter of ['budget/b/2026-11', `cost/${KEY}`, 'wallet'])
    t.deepEqual([s.spent(counter), s.held(counter)], ['0.4', '0.9'], counter);
  t.deepEqual(
    s.book.uses.map(({ costUSD, ...use }) => ({ ...use, cost: costUSD.toFixed() })),
    [{ ...USE, minute: NOON, cost: '0.4' }],
  );
  t.deepEqual(
    s.book.postings.map(({ reason, segment, amountUSD }) => [reason, segment, amountUSD.toFixed()]),
    [['Use', 'Running', '0.4']],
  );
  s.applied(NOON, { op: 'Release', key: KEY });
  t.deepEqual([s.spent('budget/b/2026-11'), s.held('budget/b/2026-11')], ['0.4', '0']);
  t.deepEqual(s.at(NOON, draw(2, '0.1', '0')), { outcome: 'Nothing', why: 'Gone' });
});

test('more than the block holds is paid by the service, and passes no limit', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, block('1'));
  t.deepEqual(drawn(s, NOON, draw(1, '1.25', '0', USE)), { chargedUSD: '1', heldUSD: '0' });
  t.is(s.spent('budget/b/2026-11'), '1');
  t.is(s.book.postings.at(-1)?.coveredUSD.toFixed(), '0.25');
  t.is(s.book.uses.at(-1)?.costUSD.toFixed(), '1', 'the use costs what was charged');
});

test('a block that finds no room for more keeps what is left, and hears who refused and how much more there is', (t) => {
  const s = begin(budgetOf('b', '1'));
  s.applied(NOON, block('0.6'));
  const result = s.applied(NOON, draw(1, '0.1', '2'));
  t.like(result.refusal, { by: 'Budget', uid: 'b', availableUSD: '0.40', neededUSD: '2.00' });
  t.is(result.drawn?.heldUSD, '0.5');
  t.deepEqual(drawn(s, NOON, draw(2, '0', '0.9')), { chargedUSD: '0', heldUSD: '0.9' });
  t.is(s.held('budget/b/2026-11'), '0.9');
});

test('a block gets less under a Budget that was lowered below what it holds, and not more', (t) => {
  const s = begin(budgetOf('b', '5'));
  s.applied(NOON, block('3'), budgetOf('b', '1'));
  t.deepEqual(s.applied(NOON, draw(1, '0', '2')).refusal, undefined);
  t.is(s.held('budget/b/2026-11'), '2');
  t.like(s.applied(NOON, draw(2, '0', '2.1')), {
    refusal: { uid: 'b', availableUSD: '0.00' },
    drawn: { heldUSD: '2' },
  });
});

test('a Budget that is made while a block stands counts its next use, and has a part of it from the next draw or renewal on', (t) => {
  for (const limitUSD of ['9', '0.1']) {
    const s = begin();
    s.applied(NOON, block('1'), total('b', limitUSD), draw(1, '0.3', '0.7'));
    t.deepEqual([s.spent('budget/b/total'), s.held('budget/b/total')], ['0.3', '0.7'], limitUSD);
    const renewed = begin();
    renewed.applied(NOON, block('1'), total('b', limitUSD));
    t.is(renewed.applied(NOON, { op: 'Renew', key: KEY }).fundedUntil, undefined, 'nothing that ends');
    t.is(renewed.held('budget/b/total'), '1');
    t.is(renewed.applied(NOON, draw(1, '0.3', '0.2')).refusal, undefined, 'less is never refused');
    t.deepEqual([renewed.spent('budget/b/total'), renewed.held('budget/b/total')], ['0.3', '0.2']);
  }
});

test('a block is renewed at the end of a month alone, and charged in the month of its posting', (t) => {
  const s = begin();
  s.applied(NOON, block('1'));
  t.is(renewAt(s.hold(KEY), NOON), undefined, 'no month matters to it');
  s.applied(NOON, budgetOf('b', '5'), draw(1, '0', '1'));
  t.is(renewAt(s.hold(KEY), NOON), MONTH_END - 2 * MINUTE);
  s.applied(MONTH_END - 2 * MINUTE, { op: 'Renew', key: KEY });
  t.is(renewAt(s.hold(KEY), MONTH_END - 2 * MINUTE), MONTH_END);
  t.deepEqual(drawn(s, MONTH_END - 1, draw(2, '0.2', '0.8')), { chargedUSD: '0.2', heldUSD: '0.8' });
  t.deepEqual(drawn(s, MONTH_END, draw(3, '0.3', '0.5')), { chargedUSD: '0.3', heldUSD: '0.5' });
  t.deepEqual([s.spent('budget/b/2026-11'), s.spent('budget/b/2026-12')], ['0.2', '0.3']);
  t.deepEqual([s.held('budget/b/2026-11'), s.held('budget/b/2026-12')], ['0', '0.5']);
});

test('a block that has no part in the new month is charged nothing in it, and says so', (t) => {
  const s = begin(budgetOf('b', '5'));
  s.applied(NOON, block('1'), budgetOf('c', '5'), draw(1, '0', '1'));
  // The new month is full before the block is renewed.
  s.applied(MONTH_END, place('other', { terms: BLOCK_TERMS, amountUSD: '5' }));
  t.deepEqual(drawn(s, MONTH_END, draw(2, '0.5', '1')), { chargedUSD: '0', heldUSD: '0' });
  t.is(s.spent('budget/b/2026-12'), '0');
  t.like(s.applied(MONTH_END, draw(3, '0', '0.2')), {
    refusal: { uid: 'b', availableUSD: '0.00' },
    drawn: { heldUSD: '0' },
  });
});

test('a block that was placed before payments begin is charged from credits once it holds what is in the wallet', (t) => {
  const s = begin(credit('g', '1'));
  s.applied(NOON, block('0.5'), PREPAID, draw(1, '0.1', '0.6'), draw(2, '0.2', '0.8'));
  const accounts = s.book.postings.map(({ lines }) => lines.map(({ account }) => account)).slice(1);
  t.deepEqual(accounts, [
    ['unbilled', 'revenue'],
    ['grants/g', 'revenue'],
  ]);
  t.like(s.applied(NOON, draw(3, '0', '0.9')), { refusal: { by: 'Wallet', availableUSD: '0.00' } });
});

test('a hold whose time is billed takes no draws, and what was drawn is no part of what its time costs', (t) => {
  const s = begin();
  s.applied(NOON, place('j', { amountUSD: '1' }), { ...draw(1, '0.3', '0.7'), key: 'j' } as MoneyOperation);
  s.applied(NOON, bill('j', NOON));
  t.deepEqual(s.at(NOON, { ...draw(2, '0.3', '0.7'), key: 'j' } as MoneyOperation), {
    ...{ outcome: 'Nothing', why: 'MovedOn' },
  });
  s.applied(NOON + MINUTE, { op: 'Release', key: 'j' });
  t.is(s.spent('cost/j'), '0.31');
});

test('a refused member leaves no use, and requests that cost nothing are counted alone', (t) => {
  const s = begin();
  s.applied(NOON, { op: 'Count', use: USE });
  t.deepEqual(
    s.book.uses.map(({ costUSD }) => costUSD.toFixed()),
    ['0'],
  );
  t.is(s.book.postings.length, 0);
  const mark = s.book.mark();
  s.applied(NOON, block('1'), draw(1, '0.5', '0', USE), { op: 'Count', use: USE });
  s.book.undo(mark);
  t.is(s.book.uses.length, 1);
});

test('a draw or count that no book could carry out is refused by what is wrong with it', (t) => {
  const wrong: readonly (readonly [MoneyOperation, RegExp])[] = [
    [draw(1, '-1', '0'), /-1/],
    [draw(1, '0', '0.0000000001'), /0\.0000000001/],
    [draw(0, '0', '0'), /0 is not the number of a draw/],
    [draw(1, '0', '0', { ...USE, errors: 4 }), /4 of 3 requests/],
    [{ op: 'Count', use: { ...USE, inputTokens: 0.5 } }, /0\.5 is not a count/],
    [{ op: 'Count', use: { ...USE, uid: '' } }, /names no InferenceEndpoint/],
  ];
  for (const [operation, message] of wrong)
    t.throws(() => checkOperation(operation), { instanceOf: RangeError, message });
  t.notThrows(() => checkOperation(draw(1, '0.000000001', '0', USE)));
});
