/**
 * One transaction: takes the clock row, admits the commits of a batch, writes every table once, and commits. It says what became of
 * it; what follows from that is in `batch-runner.ts`.
 *
 * Versions are gapless (I4): only admitted commits get one, under the row's lock, and the clock goes on by exactly so many. A commit
 * that turns out not to fit after it got its version (a stale object, a taken name or key, a full org) ends the transaction without
 * a trace, and the batch runner tries again without it. Statements may be sent with a predicted version before the clock has
 * answered; they are committed only when the clock says the same.
 *
 * Where money is touched, the books are read in the same piece as the clock row is taken, behind its lock, and everything else follows them.
 * Operations without an object take no version; a transaction of such ones alone leaves a row by which its fate can be asked.
 */
import { randomUUID } from 'node:crypto';
import { readBooks } from '../ledger/read-book.js';
import { admitMoney, hasMoney, ledgerNeeds, type Ledger } from './admit-money.js';
import { forgetDeleted } from './delete-objects.js';
import type { Committing } from './fate.js';
import { commitsOf, ledgersOf, type Queued, type QueuedCommit, type QueuedLedger } from './queued-commit.js';
import type { Session } from './session.js';
import { answersIn, misfitsOf, partsOf, sendStatements, type Parts, type Refusals, type Sent } from './statements.js';
import { takeClock, type ClockOptions, type TakenClock } from './take-clock.js';
import type { VersionPrediction } from './version-prediction.js';

/** Of operations without an object, one result each. */
export type LedgerResults = Ledger['results'];

export type Transaction =
  /** Durable. `entries[i]` has version `first + i`; `refused` found no money. */
  | {
      readonly end: 'Committed';
      readonly first: number;
      readonly entries: readonly QueuedCommit[];
      readonly refused: Refusals;
      readonly results: LedgerResults;
    }
  /** Rolled back: these do not fit, and operations with results change nothing. What has no answer by that is to be tried again. */
  | { readonly end: 'Refused'; readonly refused: Refusals; readonly results: LedgerResults }
  /** Rolled back: another epoch holds the lease, or this is not the database that was written to before. */
  | { readonly end: 'Fenced'; readonly why: string };

export interface TransactionOptions extends ClockOptions {
  readonly clock: VersionPrediction;
  readonly objectsPerOrg: number;
  /** Called just before COMMIT is sent: from here until its answer, only Postgres knows the outcome. */
  onCommitting(committing: Committing, entries: readonly QueuedCommit[], results: LedgerResults): void;
  /** Called with each decision about money, in their order. Must not throw. */
  readonly onMoney?: ((decided: DecidedMoney) => void) | undefined;
}

/** What was decided about money under the lock, before it is written. It stands if the transaction commits, and where nothing is to be written. */
export interface DecidedMoney {
  readonly transaction: string;
  /** ms on Postgres's clock. */
  readonly now: number;
  /** In the order in which they were decided; `ledgers` behind them. */
  readonly commits: readonly QueuedCommit[];
  readonly ledgers: readonly QueuedLedger[];
  readonly ledger: Pick<Ledger, 'refused' | 'results'>;
  /** False: the answers stand as they are. */
  readonly writes: boolean;
}

const NO_RESULTS: LedgerResults = new Map();

/** Rejects with pg's error; nothing is committed then unless `onCommitting` was called. */
export function runTransaction(
  session: Session,
  batch: readonly Queued[],
  options: TransactionOptions,
): Promise<Transaction> {
  const commits = commitsOf(batch);
  // Who has the money is seen only under the clock row's lock.
  if (commits.length < batch.length || commits.some(({ request }) => hasMoney(request)))
    return inOrder(session, { commits, ledgers: ledgersOf(batch), money: true }, options);
  return atOnce(session, commits, options, options.clock.predict(commits.length));
}

interface Batch {
  readonly commits: readonly QueuedCommit[];
  readonly ledgers: readonly QueuedLedger[];
  /** Money is looked at. */
  readonly money: boolean;
}

/**
 * All but COMMIT in one piece, with predicted versions: two round trips to Postgres instead of three. The clock
 * answers which versions it gave before anything is committed; where they are others, all is rolled back and done in order.
 */
async function atOnce(
  session: Session,
  commits: readonly QueuedCommit[],
  options: TransactionOptions,
  predicted: number,
): Promise<Transaction> {
  const parts = partsOf(commits);
  // In this order.
  const { clock, forgotten, sent } = session.together(() => ({
    clock: takeClock(session, options, commits.length),
    forgotten: forget(session, commits),
    sent: sendStatements(session, parts, predicted + 1, undefined),
  }));
  const answered = Promise.allSettled(answersIn(sent, forgotten));
  const taken = await clock;
  const batch = { commits, ledgers: [], money: false };
  if (taken.base === predicted)
    return finish(session, batch, options, { taken, parts, sent, forgotten, poor: new Map(), ledger: undefined });
  // I3, I4: nothing of this is committed, whatever it found.
  await answered;
  await session.script('ROLLBACK');
  return taken.base === undefined ? { end: 'Fenced', why: taken.why } : inOrder(session, batch, options);
}

async function inOrder(session: Session, batch: Batch, options: TransactionOptions): Promise<Transaction> {
  const { commits, ledgers, money } = batch;
  // In the order in which they get their versions.
  const { entries } = partsOf(commits);
  // I3, I4: the clock row's lock puts commits in order, and only the holder of the newest epoch gets it.
  const { clock, forgotten, read } = session.together(() => ({
    clock: takeClock(session, options, commits.length),
    forgotten: forget(session, commits),
    read: money ? readBooks(session, ledgerNeeds(entries, ledgers)) : undefined,
  }));
  const answered = Promise.allSettled([forgotten, read]);
  const taken = await clock;
  const { base } = taken;
  if (base === undefined) {
    await answered;
    await session.script('ROLLBACK');
    return { end: 'Fenced', why: taken.why };
  }
  options.clock.found(base + commits.length);

  const books = await read;
  const ledger = books && admitMoney(books, entries, ledgers);
  const poor: Refusals = ledger?.refused ?? new Map();
  const admitted = poor.size === 0 ? commits : commits.filter((queued) => !poor.has(queued));
  const writes = admitted.length > 0 || ledger?.changed === true;
  if (books && ledger)
    options.onMoney?.({ transaction: taken.transaction, now: books.now, commits: entries, ledgers, ledger, writes });
  if (!writes) {
    await answered;
    await rollBack(session, options, base);
    return { end: 'Refused', refused: poor, results: ledger?.results ?? NO_RESULTS };
  }

  const parts = partsOf(admitted);
  // All at once: only COMMIT waits for what they answer.
  const sent = sendStatements(session, parts, base + 1, ledger);
  return finish(session, batch, options, { taken, parts, sent, forgotten, poor, ledger });
}

interface Written {
  readonly taken: TakenClock;
  readonly parts: Parts;
  readonly sent: Sent;
  readonly forgotten: Promise<boolean> | undefined;
  readonly poor: Refusals;
  readonly ledger: Ledger | undefined;
}

async function finish(
  session: Session,
  batch: Batch,
  options: TransactionOptions,
  written: Written,
): Promise<Transaction> {
  const { base } = written.taken;
  const { parts, sent, forgotten, poor, ledger } = written;
  const { entries } = parts;
  // Operations without an object all fit, so COMMIT waits for no answer; where a statement has failed it finds the transaction over.
  const early = entries.length === 0 ? sendCommit(session, batch, options, written) : undefined;
  early?.catch(() => undefined);
  const misfits = await misfitsOf(parts, sent, forgotten, options.objectsPerOrg);
  if (misfits.size > 0) {
    await rollBack(session, options, base);
    return { end: 'Refused', refused: misfits, results: NO_RESULTS };
  }
  // I7: what a deleted object still holds is released by the rules, in the transaction of its end.
  if (ledger === undefined && (await forgotten)) {
    await rollBack(session, options, base);
    return inOrder(session, { ...batch, money: true }, options);
  }
  await (early ?? sendCommit(session, batch, options, written));
  return { end: 'Committed', first: base + 1, entries, refused: poor, results: ledger?.results ?? NO_RESULTS };
}

async function sendCommit(
  session: Session,
  { commits }: Batch,
  options: TransactionOptions,
  { taken: { base, transaction }, parts: { entries }, ledger }: Written,
): Promise<void> {
  const first = base + 1;
  const [oldest] = entries;
  const results = ledger?.results ?? NO_RESULTS;
  const end = base + entries.length;
  if (entries.length < commits.length) options.clock.found(end);
  const last = [entries.length === commits.length ? '' : `UPDATE clock SET version = ${end}; `, 'COMMIT'];
  if (oldest === undefined) {
    const ledgerCommit = randomUUID();
    options.onCommitting({ transaction, ledgerCommit }, entries, results);
    last.unshift(`INSERT INTO ledger_commits (id) VALUES ('${ledgerCommit}'); `);
  } else options.onCommitting({ transaction, first, uid: oldest.request.uid }, entries, results);
  await session.script(last.join(''));
}

async function rollBack(session: Session, options: TransactionOptions, base: number): Promise<void> {
  options.clock.found(base);
  await session.script('ROLLBACK');
}

function forget(session: Session, commits: readonly QueuedCommit[]): Promise<boolean> | undefined {
  const deleted = commits.filter(({ request }) => request.write.op === 'delete');
  return deleted.length === 0 ? undefined : forgetDeleted(session, deleted);
}
