/**
 * The clock row: its lock puts commits in order (I4), and its epoch lets only the holder of the newest lease write (I3). A process
 * that finds the clock behind what it has seen committed may not write either: that is not the database that it was before.
 */
import type { Session } from './session.js';

export interface ClockOptions {
  /** Of the lease. */
  readonly epoch: number;
  /** Newest version that is known to be committed. */
  newest(): number;
}

export interface TakenClock {
  /** Version before the transaction's first. */
  readonly base: number;
  /** Id of the transaction. */
  readonly transaction: string;
}

export interface ClockRefused {
  readonly base: undefined;
  readonly why: string;
}

/**
 * Precondition: none. Result: a transaction is open, the clock row is locked and on by `count`; the version before it.
 * Undefined: this process may not write here. Epoch and count are our own numbers, so they stand in the text.
 */
export async function takeClock(
  session: Session,
  { epoch, newest }: ClockOptions,
  count: number,
): Promise<TakenClock | ClockRefused> {
  // Before it is asked: what is committed while the question is on its way may be newer than the answer.
  const known = newest();
  const results = await session.script(
    `BEGIN; UPDATE clock SET version = version + ${count} WHERE epoch = ${epoch} RETURNING version, pg_current_xact_id()`,
  );
  const [version, transaction] = results[1]?.rows[0] ?? [];
  if (typeof version !== 'number' || typeof transaction !== 'string')
    return { base: undefined, why: `another process holds the lease, at an epoch other than ${epoch}` };
  const base = version - count;
  // I4: a version is given once. A database that has gone back would give it again, to another change.
  if (base < known) return { base: undefined, why: wentBack(base, known) };
  return { base, transaction };
}

function wentBack(base: number, known: number): string {
  return (
    `the database is at version ${base}, and version ${known} was committed to it before: ` +
    'it was restored from a backup, or an older copy took its place'
  );
}
