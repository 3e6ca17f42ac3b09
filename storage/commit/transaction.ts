/**
 * One transaction: takes the clock row, admits the commits of a batch, writes every table once, and commits. It says what became of
 * it; what follows from that is in `batch-runner.ts`.
 *
 * Versions are gapless (I4): only admitted commits get one, under the row's lock, and the clock goes on by exactly so many. A commit
 * that turns out not to fit after it got its version (a stale object, a taken name or key, a full org) ends the transaction without
 * a trace, and the batch runner tries again without it. Statements may be sent with a predicted version before the clock has
 * answered; they are committed only when the clock says the same.
 */
import { admitMoney, hasMoney, type Ledger } from './admit-money.js';
import { forgetDeleted } from './delete-objects.js';
import type { Committing } from './fate.js';
import type { QueuedCommit } from './queued-commit.js';
import type { CommitResult } from './request.js';
import type { Session } from './session.js';
import { answersIn, misfitsOf, partsOf, sendStatements, type Parts, type Refusals, type Sent } from './statements.js';
import { takeClock, type ClockOptions, type TakenClock } from './take-clock.js';
import type { VersionPrediction } from './version-prediction.js';

export type Transaction =
  /** Durable. `entries[i]` has version `first + i`; `refused` found no money. */
  | {
      readonly end: 'Committed';
      readonly first: number;
      readonly entries: readonly QueuedCommit[];
      readonly refused: Refusals;
    }
  /** Rolled back: these do not fit. With none left, all are answered; else the others are to be tried again. */
  | { readonly end: 'Refused'; readonly refused: Refusals }
  /** Rolled back: another epoch holds the lease, or this is not the database that was written to before. */
  | { readonly end: 'Fenced'; readonly why: string };

export interface TransactionOptions extends ClockOptions {
  readonly clock: VersionPrediction;
  readonly objectsPerOrg: number;
  /** Called just before COMMIT is sent: from here until its answer, only Postgres knows the outcome. */
  onCommitting(committing: Committing, entries: readonly QueuedCommit[]): void;
}

/** Rejects with pg's error; nothing is committed then unless `onCommitting` was called. */
export function runTransaction(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
): Promise<Transaction> {
  // Who has the money is seen only under the clock row's lock.
  if (batch.some(({ request }) => hasMoney(request))) return inOrder(session, batch, options);
  return atOnce(session, batch, options, options.clock.predict(batch.length));
}

/**
 * All but COMMIT in one piece, with predicted versions: two round trips to Postgres instead of three. The clock
 * answers which versions it gave before anything is committed; where they are others, all is rolled back and done in order.
 */
async function atOnce(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
  predicted: number,
): Promise<Transaction> {
  const parts = partsOf(batch);
  // In this order.
  const { clock, forgotten, sent } = session.together(() => ({
    clock: takeClock(session, options, batch.length),
    forgotten: forget(session, batch),
    sent: sendStatements(session, parts, predicted + 1, undefined, batch),
  }));
  const answered = Promise.allSettled(answersIn(sent, forgotten));
  const taken = await clock;
  if (taken.base === predicted)
    return finish(session, batch, options, { taken, parts, sent, forgotten, poor: new Map() });
  // I3, I4: nothing of this is committed, whatever it found.
  await answered;
  await session.script('ROLLBACK');
  return taken.base === undefined ? { end: 'Fenced', why: taken.why } : inOrder(session, batch, options);
}

async function inOrder(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
): Promise<Transaction> {
  // I3, I4: the clock row's lock puts commits in order, and only the holder of the newest epoch gets it.
  const taken = await takeClock(session, options, batch.length);
  const { base } = taken;
  if (base === undefined) {
    await session.script('ROLLBACK');
    return { end: 'Fenced', why: taken.why };
  }
  options.clock.found(base + batch.length);

  let ledger: Ledger | undefined;
  const poor = new Map<QueuedCommit, CommitResult>();
  // Before the money is looked at: what a deleted object held is free for its neighbours.
  const forgotten = forget(session, batch);
  if (batch.some(({ request }) => hasMoney(request))) {
    await forgotten;
    ledger = await admitMoney(session, batch);
    for (const [position, result] of ledger.refused) {
      const queued = batch[position];
      if (queued !== undefined) poor.set(queued, result);
    }
  }
  const admitted = poor.size === 0 ? batch : batch.filter((queued) => !poor.has(queued));
  if (admitted.length === 0) {
    await rollBack(session, options, base);
    return { end: 'Refused', refused: poor };
  }

  const parts = partsOf(admitted);
  // All at once: only COMMIT waits for what they answer.
  const sent = session.together(() => sendStatements(session, parts, base + 1, ledger, batch));
  return finish(session, batch, options, { taken, parts, sent, forgotten, poor });
}

interface Written {
  readonly taken: TakenClock;
  readonly parts: Parts;
  readonly sent: Sent;
  readonly forgotten: Promise<void> | undefined;
  readonly poor: Refusals;
}

async function finish(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
  { taken: { base, transaction }, parts, sent, forgotten, poor }: Written,
): Promise<Transaction> {
  const misfits = await misfitsOf(parts, sent, forgotten, options.objectsPerOrg);
  if (misfits.size > 0) {
    await rollBack(session, options, base);
    return { end: 'Refused', refused: misfits };
  }
  const first = base + 1;
  const { entries } = parts;
  options.onCommitting({ transaction, first, uid: entries[0]?.request.uid ?? '' }, entries);
  const end = base + entries.length;
  if (entries.length < batch.length) options.clock.found(end);
  const giveBack = entries.length === batch.length ? '' : `UPDATE clock SET version = ${end}; `;
  await session.script(`${giveBack}COMMIT`);
  return { end: 'Committed', first, entries, refused: poor };
}

async function rollBack(session: Session, options: TransactionOptions, base: number): Promise<void> {
  options.clock.found(base);
  await session.script('ROLLBACK');
}

function forget(session: Session, batch: readonly QueuedCommit[]): Promise<void> | undefined {
  const deleted = batch.filter(({ request }) => request.write.op === 'delete');
  return deleted.length === 0 ? undefined : forgetDeleted(session, deleted);
}
