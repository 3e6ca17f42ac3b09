/** What the scenarios of money share: operations with usual values, and a book that is asked at given times. */
import { applyOperation } from '../../src/money/apply.js';
import { EMPTY_BOOK, openBook, type Book } from '../../src/money/book.js';
import type { Hold, Terms } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import { checkOperation, type Applied, type MoneyOperation, type OperationResult } from '../../src/money/operation.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const NOON = Date.UTC(2026, 10, 12, 12);
export const MONTH_END = Date.UTC(2026, 11, 1);

/** A cent a minute: a first hold of 0.02. */
export const TERMS: Terms = {
  rateUSDPerHour: '0.6',
  incrementMs: 1_000,
  minimumUSD: '0',
  unitMs: MINUTE,
  reserveMs: MINUTE,
};
export const owner = (uid: string) => ({ uid, kind: 'Attempt', project: 'p', name: uid });
export const budgetOf = (uid: string, limitUSD: string, more: Partial<BudgetLimit> = {}): MoneyOperation => ({
  op: 'SetBudget',
  budget: {
    uid,
    name: `name of ${uid}`,
    limitUSD,
    action: 'Block',
    period: 'Monthly',
    thresholds: [50, 80, 100],
    ...more,
  },
});
export const place = (key: string, more: Partial<Extract<MoneyOperation, { op: 'Place' }>> = {}): MoneyOperation => ({
  ...{ op: 'Place', key, owner: owner(key), terms: TERMS },
  payer: { project: 'p', labels: {}, costs: [owner(key)] },
  ...more,
});
export const bill = (
  key: string,
  from: number,
  segment: Hold['charged'][number]['segment'] = 'Running',
): MoneyOperation => ({
  ...{ op: 'Bill', key, segment, from },
});

export interface Scenario {
  readonly book: Book;
  /** Answers the last result. */
  at(now: number, ...operations: readonly MoneyOperation[]): OperationResult;
  applied(now: number, ...operations: readonly MoneyOperation[]): Applied;
  hold(key: string): Hold;
  spent(counter: string): string;
  held(counter: string): string;
}

export function begin(...operations: readonly MoneyOperation[]): Scenario {
  const book = openBook(EMPTY_BOOK);
  const scenario: Scenario = {
    book,
    at(now, ...asked) {
      let last: OperationResult = { outcome: 'Applied' };
      for (const operation of asked) {
        checkOperation(operation);
        last = applyOperation(book, operation, now);
      }
      return last;
    },
    applied(now, ...asked) {
      const result = scenario.at(now, ...asked);
      if (result.outcome !== 'Applied') throw new Error(JSON.stringify(result));
      return result;
    },
    hold(key) {
      const hold = book.holds.get(key);
      if (hold === undefined) throw new Error(`no hold ${key}`);
      return hold;
    },
    spent: (counter) => book.counter(counter).spentUSD.toFixed(),
    held: (counter) => book.counter(counter).heldUSD.toFixed(),
  };
  scenario.at(NOON, ...operations);
  return scenario;
}

export const credit = (
  grant: string,
  amountUSD: string,
  more: { expires?: number; once?: string } = {},
): MoneyOperation => ({
  ...{ op: 'Credit', grant, amountUSD },
  ...more,
});
export const PREPAID: MoneyOperation = { op: 'SetMode', mode: 'Prepaid' };
