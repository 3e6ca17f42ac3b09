/**
 * The money of a batch: carries out the operations of its members one by one by the pure rules of `src/money`, on the books that were read
 * under the clock's lock, and writes what changed.
 *
 * I7: nothing else writes the ledger, and the lock is held, so what was read is what is true until the commit. Members are taken in the order
 * of their versions, those without an object behind them. A refused member leaves no trace and fails no neighbour. Of a deleted
 * object no hold is left: what its own commit does not release is charged until now and given back.
 */
import { applyMember, applyOperation, type MemberRefusal } from '../../src/money/apply.js';
import { EMPTY_BOOK, openBook, type Book } from '../../src/money/book.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import type { LedgerBooks, LedgerNeeds } from '../ledger/read-book.js';
import { isChanged, writeBooks, type ChangedBook } from '../ledger/write-book.js';
import type { QueuedCommit, QueuedLedger } from './queued-commit.js';
import type { CommitRequest, CommitResult, FundedHold } from './request.js';
import type { Session } from './session.js';

export interface Ledger {
  /** Why a commit is refused. */
  readonly refused: ReadonlyMap<QueuedCommit, CommitResult>;
  /** Of members without an object, one result for each operation. */
  readonly results: ReadonlyMap<QueuedLedger, readonly OperationResult[]>;
  readonly changed: boolean;
  /** Writes what the admitted members changed. */
  write(session: Session, versions: ReadonlyMap<QueuedCommit, number>): Promise<void>;
}

export function hasMoney(request: CommitRequest): boolean {
  return request.money.length > 0;
}

/** What has to be read for these members. */
export function ledgerNeeds(commits: readonly QueuedCommit[], ledgers: readonly QueuedLedger[]): LedgerNeeds[] {
  const needs: LedgerNeeds[] = [];
  for (const { request } of commits) {
    const deleted = request.write.op === 'delete' ? request.uid : undefined;
    if (hasMoney(request) || deleted !== undefined)
      needs.push({ org: request.address.org, operations: request.money, deleted });
  }
  return [...needs, ...ledgers.map(({ org, operations }) => ({ org, operations }))];
}

/** `commits` in the order of their versions. Nothing is written yet. */
export function admitMoney(
  { now, books: states }: LedgerBooks,
  commits: readonly QueuedCommit[],
  ledgers: readonly QueuedLedger[],
): Ledger {
  const books = new Map<string, Book>();
  const bookOf = (org: string): Book => {
    const book = books.get(org) ?? openBook(states.get(org) ?? EMPTY_BOOK);
    books.set(org, book);
    return book;
  };
  const refused = new Map<QueuedCommit, CommitResult>();
  const makers = new Map<Book, (QueuedCommit | undefined)[]>();

  for (const queued of commits) {
    const { request } = queued;
    const deleted = request.write.op === 'delete';
    if (!deleted && !hasMoney(request)) continue;
    const book = bookOf(request.address.org);
    const mark = book.postings.length;
    const result = applyMember(book, request.money, now);
    if (result.outcome === 'NotApplied') refused.set(queued, refusalOf(result.refusal));
    else if (deleted) releaseAll(book, request.uid, now);
    queued.funded = result.outcome === 'Applied' ? fundedBy(request.money.at(-1), result.results.at(-1)) : undefined;
    noteMaker(makers, book, mark, queued);
    book.keep();
  }
  const results = new Map<QueuedLedger, readonly OperationResult[]>();
  for (const ledger of ledgers) {
    const book = bookOf(ledger.org);
    results.set(ledger, carryOut(book, ledger.operations, now));
  }

  const all = [...books].map(([org, book]) => ({ org, book, before: states.get(org) ?? EMPTY_BOOK }));
  return {
    refused,
    results,
    changed: all.some(isChanged),
    async write(session, versions) {
      const changed = all.map<ChangedBook>(({ org, book, before }) => ({
        ...{ org, book, before },
        versionOf(posting) {
          const maker = makers.get(book)?.[posting];
          return maker && versions.get(maker);
        },
      }));
      await writeBooks(session, changed, now);
    },
  };
}

function fundedBy(last: MoneyOperation | undefined, result: OperationResult | undefined): FundedHold | undefined {
  if (result?.outcome !== 'Applied') return undefined;
  const limited = result.limited === true;
  if (last?.op === 'Place') return { state: 'Placed', limited };
  if (result.fundedUntil === undefined) return undefined;
  return { state: 'Billed', until: limited ? result.fundedUntil : undefined };
}

/** Each by itself: a refused one does not fail its neighbours. */
function carryOut(book: Book, operations: readonly MoneyOperation[], now: number): readonly OperationResult[] {
  return operations.map((operation) => {
    const result = applyOperation(book, operation, now);
    book.keep();
    return result;
  });
}

/** I7: no live work, no hold. */
function releaseAll(book: Book, uid: string, now: number): void {
  const left = [...book.holds.values()].filter((hold) => hold.owner.uid === uid);
  for (const { key } of left) applyOperation(book, { op: 'Release', key }, now);
}

function noteMaker(makers: Map<Book, (QueuedCommit | undefined)[]>, book: Book, from: number, by: QueuedCommit): void {
  const list = makers.get(book) ?? [];
  makers.set(book, list);
  for (let i = from; i < book.postings.length; i++) list[i] = by;
}

function refusalOf(refusal: MemberRefusal): CommitResult {
  if (refusal.outcome === 'DuplicateKey') return refusal;
  return { ...refusal, outcome: 'HoldRefused' };
}
