/**
 * What becomes of one batch: its transaction is run, run again without the commits that did not fit, run again after a lost
 * connection, and in halves when a statement is refused or too slow, until every commit has its answer.
 *
 * A transaction that failed before COMMIT was sent has written nothing. One that failed after it leaves a question, which
 * is asked of Postgres (`fate.ts`) until the committer is closed: no commit is answered with a guess, and one whose outcome cannot
 * be known is answered Unknown. Everything else is tried again until the batch's deadline, and is then Unavailable and
 * certainly not written.
 */
import { classify, describe, type StorageFailure } from '../errors.js';
import type { Queued, QueuedCommit } from './queued-commit.js';
import { askFate, type Committing } from './fate.js';
import type { CommitConnection } from './connection.js';
import type { CommitFailure } from './request.js';
import type { Refusals } from './statements.js';
import { runTransaction, type LedgerResults, type Transaction, type TransactionOptions } from './transaction.js';

/** First and longest pause between tries (ms). */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;

export interface BatchOptions extends Omit<TransactionOptions, 'onCommitting'> {
  /** Monotonic ms. */
  now(): number;
  pause(ms: number): Promise<void>;
  /** True once nothing can be asked any more: the committer was closed by force. */
  abandoned(): boolean;
  /** In commit order or not; entries[i] has version first + i. */
  onCommitted(first: number, entries: readonly QueuedCommit[]): void;
  onFenced(why: string): void;
}

type Try =
  | Transaction
  /** Nothing is written; the same may succeed in a moment. */
  | { readonly end: 'Later'; readonly why: string }
  /** Nothing is written; Postgres refuses a statement for what is in it. */
  | { readonly end: 'BadData'; readonly why: string }
  /** Nothing is written; a statement ran past its limit. */
  | { readonly end: 'TooSlow'; readonly why: string }
  /** COMMIT was sent, and its outcome cannot be known any more. */
  | { readonly end: 'Unknown'; readonly why: string }
  /** The same, because Postgres has another history than this process. */
  | { readonly end: 'OtherHistory'; readonly why: string };

/** Resolves when every entry is answered or handed to `onCommitted`. */
export async function runBatch(
  connection: CommitConnection,
  batch: readonly Queued[],
  deadline: number,
  options: BatchOptions,
): Promise<void> {
  // Smaller and smaller groups of what is left of the batch.
  const groups: (readonly Queued[])[] = [batch];
  let pause = FIRST_PAUSE;
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
    if (group.length === 0) continue;
    const result = await attempt(connection, group, options);
    switch (result.end) {
      case 'Committed':
        pause = FIRST_PAUSE;
        if (result.entries.length > 0) options.onCommitted(result.first, result.entries);
        groups.unshift(answerKnown(group, result, result.entries));
        break;
      case 'Refused':
        groups.unshift(answerKnown(group, result, []));
        break;
      case 'Fenced':
        options.onFenced(result.why);
        answer([...group, ...groups.flat()], { outcome: 'Fenced' });
        return;
      case 'BadData': {
        if (group.length === 1) answer(group, { outcome: 'Unavailable', message: `storage refuses it: ${result.why}` });
        else groups.unshift(...halvesOf(group));
        break;
      }
      case 'TooSlow':
        if (options.abandoned() || options.now() > deadline) {
          answer([...group, ...groups.flat()], { outcome: 'Unavailable', message: result.why });
          return;
        }
        // Behind the others: the half without the slow commit goes before the slow one is tried again.
        groups.push(...(group.length === 1 ? [group] : halvesOf(group)));
        break;
      case 'Later':
        if (options.abandoned() || options.now() + pause > deadline) {
          answer([...group, ...groups.flat()], { outcome: 'Unavailable', message: result.why });
          return;
        }
        await options.pause(pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE);
        groups.unshift(group);
        break;
      case 'OtherHistory':
        options.onFenced(result.why);
        answer(group, { outcome: 'Unknown', message: result.why });
        answer(groups.flat(), { outcome: 'Fenced' });
        return;
      case 'Unknown':
        answer(group, { outcome: 'Unknown', message: result.why });
        answer(groups.flat(), { outcome: 'Unavailable', message: 'storage is closing' });
        return;
    }
  }
}

function halvesOf(group: readonly Queued[]): readonly (readonly Queued[])[] {
  const half = Math.ceil(group.length / 2);
  return [group.slice(0, half), group.slice(half)];
}

/** Answers those of the group whose end is known and not published; the others are left. */
function answerKnown(
  group: readonly Queued[],
  { refused, results }: { readonly refused: Refusals; readonly results: LedgerResults },
  committed: readonly QueuedCommit[],
): readonly Queued[] {
  for (const [queued, refusal] of refused) queued.resolve(refusal);
  for (const [queued, all] of results) queued.resolve({ outcome: 'Committed', results: all });
  const known = new Set<Queued>([...refused.keys(), ...results.keys(), ...committed]);
  return group.filter((queued) => !known.has(queued));
}

function answer(entries: readonly Queued[], result: CommitFailure): void {
  for (const queued of entries) queued.resolve(result);
}

interface Sent {
  readonly committing: Committing;
  readonly entries: readonly QueuedCommit[];
  readonly results: LedgerResults;
}

async function attempt(connection: CommitConnection, group: readonly Queued[], options: BatchOptions): Promise<Try> {
  let sent: Sent | undefined;
  try {
    const session = await connection.session();
    return await runTransaction(session, group, {
      ...options,
      onCommitting: (committing, entries, results) => (sent = { committing, entries, results }),
    });
  } catch (error) {
    const failure = classify(error);
    if (failure === 'ConnectionLost') connection.drop();
    else await connection.rollBack();
    const unwritten = tryAgain(failure, describe(error));
    // Whatever the error says: once COMMIT was sent, only Postgres knows.
    return sent === undefined ? unwritten : learnFate(connection, sent, unwritten, options);
  }
}

function tryAgain(failure: StorageFailure, why: string): Extract<Try, { end: 'Later' | 'BadData' | 'TooSlow' }> {
  if (failure === 'Refused') return { end: 'BadData', why };
  return { end: failure === 'TooSlow' ? 'TooSlow' : 'Later', why };
}

/** `unwritten`: what follows when nothing was written. */
async function learnFate(
  connection: CommitConnection,
  sent: Sent,
  unwritten: Try & { why: string },
  options: BatchOptions,
): Promise<Try> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    if (options.abandoned()) return { end: 'Unknown', why: unwritten.why };
    try {
      const fate = await askFate(await connection.session(), sent.committing);
      switch (fate) {
        case 'Committed':
          // Those without money were refused by this very transaction; they are looked at again with the next one.
          return { end: 'Committed', first: firstOf(sent.committing), ...sent, refused: new Map() };
        case 'NotCommitted':
          return unwritten;
        case 'OtherHistory':
          return { end: 'OtherHistory', why: 'the database does not have the transaction that was sent to it' };
        case 'UnderWay':
      }
    } catch {
      connection.drop();
    }
    await options.pause(pause);
  }
}

/** Of a transaction without a change there is none. */
function firstOf(committing: Committing): number {
  return 'first' in committing ? committing.first : 0;
}
