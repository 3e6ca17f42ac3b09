/**
 * Rehearses operations for a dry run: by the rules of the commit, on a book that is read without its lock. What it answers may be untrue a
 * moment later, and nothing is decided by it (I7).
 */
import { applyMember, type MemberRefusal } from '../../src/money/apply.js';
import { EMPTY_BOOK, openBook } from '../../src/money/book.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import type { Postgres } from '../postgres.js';
import { readBooks } from './read-book.js';

/** Undefined: they would be carried out. Rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export type Rehearse = (org: string, operations: readonly MoneyOperation[]) => Promise<MemberRefusal | undefined>;

export function openRehearsal(postgres: Pick<Postgres, 'readRows'>): Rehearse {
  const session = {
    rows: <Row extends unknown[]>(name: string, text: () => string, values: unknown[]): Promise<Row[]> =>
      postgres.readRows<Row>({ name, text: text() }, values),
  };
  return async (org, operations) => {
    const { now, books } = await readBooks(session, [{ org, operations }]);
    const result = applyMember(openBook(books.get(org) ?? EMPTY_BOOK), operations, now);
    return result.outcome === 'NotApplied' ? result.refusal : undefined;
  };
}
