/**
 * Owns what becomes of one batch: runs its transaction, again without those who did not fit, again after a lost
 * connection, and in halves when a statement is refused, until every member has its answer.
 *
 * A connection lost before COMMIT was sent has written nothing. One lost after it leaves a question, which is asked of
 * Postgres for as long as it takes (`hasCommitted`): no member is answered with a guess. Everything else is tried again
 * until the batch's deadline, and is then Unavailable and certainly not written.
 */
import { classify, describe } from '../errors.js';
import type { Entry } from './entry.js';
import { hasCommitted, type Lane } from './lane.js';
import type { MemberResult } from './member.js';
import { runTransaction, type Refusals, type Transaction, type TransactionOptions } from './transaction.js';

/** First and longest pause between tries (ms). */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;

export interface FlightOptions extends Omit<TransactionOptions, 'onCommitting'> {
  /** Monotonic ms. */
  now(): number;
  pause(ms: number): Promise<void>;
  /** True once nothing can be asked any more: the committer was closed by force. */
  abandoned(): boolean;
  /** In commit order or not; entries[i] has version first + i. */
  onCommitted(first: number, entries: readonly Entry[]): void;
  onFenced(): void;
}

type Try =
  | Transaction
  /** Nothing is written; the same may succeed in a moment. */
  | { readonly end: 'Later'; readonly why: string }
  /** Nothing is written; Postgres refuses a statement for what is in it. */
  | { readonly end: 'BadData'; readonly why: string }
  /** Given up without knowing. */
  | { readonly end: 'Abandoned' };

/** Resolves when every entry is answered or handed to `onCommitted`. */
export async function fly(
  lane: Lane,
  batch: readonly Entry[],
  deadline: number,
  options: FlightOptions,
): Promise<void> {
  // Smaller and smaller groups of what is left of the batch.
  const groups: (readonly Entry[])[] = [batch];
  let pause = FIRST_PAUSE;
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
    if (group.length === 0) continue;
    const result = await attempt(lane, group, options);
    switch (result.end) {
      case 'Committed':
        pause = FIRST_PAUSE;
        options.onCommitted(result.first, result.entries);
        for (const [entry, refusal] of result.refused) entry.resolve(refusal);
        groups.unshift(without(group, result.refused, new Set(result.entries)));
        break;
      case 'Refused':
        for (const [entry, refusal] of result.refused) entry.resolve(refusal);
        groups.unshift(without(group, result.refused, new Set()));
        break;
      case 'Fenced':
        options.onFenced();
        answer([...group, ...groups.flat()], { outcome: 'Fenced' });
        return;
      case 'BadData': {
        const half = Math.ceil(group.length / 2);
        if (group.length === 1) answer(group, { outcome: 'Unavailable', message: `storage refuses it: ${result.why}` });
        else groups.unshift(group.slice(0, half), group.slice(half));
        break;
      }
      case 'Later':
        if (options.abandoned() || options.now() + pause > deadline) {
          answer([...group, ...groups.flat()], { outcome: 'Unavailable', message: result.why });
          return;
        }
        await options.pause(pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE);
        groups.unshift(group);
        break;
      case 'Abandoned':
        answer([...group, ...groups.flat()], {
          outcome: 'Unavailable',
          message: 'closed before the outcome was known',
        });
        return;
    }
  }
}

function without(group: readonly Entry[], refused: Refusals, committed: ReadonlySet<Entry>): readonly Entry[] {
  return group.filter((entry) => !refused.has(entry) && !committed.has(entry));
}

function answer(entries: readonly Entry[], result: MemberResult): void {
  for (const entry of entries) entry.resolve(result);
}

async function attempt(lane: Lane, group: readonly Entry[], options: FlightOptions): Promise<Try> {
  let committing: { readonly first: number; readonly entries: readonly Entry[] } | undefined;
  try {
    const session = await lane.session();
    return await runTransaction(session, group, {
      ...options,
      onCommitting: (first, entries) => (committing = { first, entries }),
    });
  } catch (error) {
    const why = describe(error);
    const failure = classify(error);
    if (failure === 'ConnectionLost') {
      lane.drop();
      return committing === undefined ? { end: 'Later', why } : settle(lane, committing, why, options);
    }
    await lane.rollBack();
    return { end: failure === 'Refused' ? 'BadData' : 'Later', why };
  }
}

async function settle(
  lane: Lane,
  committing: { readonly first: number; readonly entries: readonly Entry[] },
  why: string,
  options: FlightOptions,
): Promise<Try> {
  const { first, entries } = committing;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    if (options.abandoned()) return { end: 'Abandoned' };
    try {
      const done = await hasCommitted(await lane.session(), first, entries[0]?.member.uid ?? '');
      // Those without money were refused by this very transaction; they are looked at again with the next one.
      return done ? { end: 'Committed', first, entries, refused: new Map() } : { end: 'Later', why };
    } catch {
      lane.drop();
      await options.pause(pause);
    }
  }
}
