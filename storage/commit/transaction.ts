/**
 * Owns one transaction: takes the clock row, lets the members in, writes every table once, commits. Says what became of
 * it; what to do about that is `batch-runner.ts`.
 *
 * Versions are gapless (I4): they are given to admitted members only, under the row's lock, and the clock goes on by
 * exactly so many. A member that turns out not to fit after its version was given (a stale object, a taken name or key,
 * a full org) ends the transaction without a trace; the flight asks again without it. What a statement writes may go out with the
 * version that is foreseen, before the clock has answered; it is committed only when the clock has said the same.
 *
 * I3: the clock row carries the lease epoch, so a process that lost the lease finds no row and writes nothing. Nor does
 * one that finds the clock behind what it has seen committed: that is not the database it was before.
 */
import type { QueuedCommit } from './queued-commit.js';
import { writeBlobRefs } from './write-blob-refs.js';
import { writeChildren } from './write-owners.js';
import { writeCredentials } from './write-credentials.js';
import { deleteObjects, forgetDeleted } from './delete-objects.js';
import { storeEffects } from './write-effects.js';
import { recordEvents } from './write-events.js';
import type { Committing } from './fate.js';
import type { VersionPrediction } from './version-prediction.js';
import { takeKeys } from './idempotency-keys.js';
import { insertObjects } from './insert-objects.js';
import type { CommitResult } from './request.js';
import { admitMoney, hasMoney, type Ledger } from './admit-money.js';
import { writeSecrets } from './write-secrets.js';
import type { Session } from './session.js';
import { writeSlots } from './write-slots.js';
import { writeTimers } from './write-timers.js';
import { updateObjects } from './update-objects.js';

export type Refusals = ReadonlyMap<QueuedCommit, CommitResult>;

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

export interface TransactionOptions {
  readonly epoch: number;
  readonly clock: VersionPrediction;
  readonly objectsPerOrg: number;
  /** Newest version that is known to be committed. */
  newest(): number;
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
  if (batch.some(({ request }) => hasMoney(request))) return inTurn(session, batch, options);
  return atOnce(session, batch, options, options.clock.predict(batch.length));
}

/**
 * All but COMMIT in one piece, with the versions that the clock is thought to give: two turns with Postgres instead of three. It answers
 * what it gave before anything is committed; where it was another, all is taken back and done in turn.
 */
async function atOnce(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
  foreseen: number,
): Promise<Transaction> {
  const parts = partsOf(batch);
  // In this order.
  const { clock, forgotten, asked } = session.together(() => ({
    clock: takeClock(session, options, batch.length),
    forgotten: forget(session, batch),
    asked: ask(session, parts, foreseen + 1, undefined, batch),
  }));
  const settled = Promise.allSettled(answersIn(asked, forgotten));
  const taken = await clock;
  if (taken.base === foreseen)
    return finish(session, batch, options, { taken, parts, asked, forgotten, poor: new Map() });
  // I3, I4: nothing of this is committed, whatever it found.
  await settled;
  await session.script('ROLLBACK');
  return taken.base === undefined ? { end: 'Fenced', why: taken.why } : inTurn(session, batch, options);
}

async function inTurn(
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
  const asked = session.together(() => ask(session, parts, base + 1, ledger, batch));
  return finish(session, batch, options, { taken, parts, asked, forgotten, poor });
}

interface Written {
  readonly taken: TakenClock;
  readonly parts: Parts;
  readonly asked: Asked;
  readonly forgotten: Promise<void> | undefined;
  readonly poor: Refusals;
}

async function finish(
  session: Session,
  batch: readonly QueuedCommit[],
  options: TransactionOptions,
  { taken: { base, transaction }, parts, asked, forgotten, poor }: Written,
): Promise<Transaction> {
  const unfit = await answersOf(parts, asked, forgotten, options.objectsPerOrg);
  if (unfit.size > 0) {
    await rollBack(session, options, base);
    return { end: 'Refused', refused: unfit };
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

/** Ordered by statement, so that each statement's versions follow one another. */
interface Parts {
  readonly deletes: readonly QueuedCommit[];
  readonly updates: readonly QueuedCommit[];
  readonly inserts: readonly QueuedCommit[];
  /** All of them: deletes, updates, inserts. */
  readonly entries: readonly QueuedCommit[];
  /** Those with an Idempotency-Key. */
  readonly keyed: readonly QueuedCommit[];
}

function partsOf(admitted: readonly QueuedCommit[]): Parts {
  const deletes = admitted.filter(({ request }) => request.write.op === 'delete');
  const updates = admitted.filter(({ request }) => request.write.op === 'update');
  const inserts = admitted.filter(({ request }) => request.write.op === 'insert');
  const entries = [...deletes, ...updates, ...inserts];
  return {
    deletes,
    updates,
    inserts,
    entries,
    keyed: entries.filter(({ request }) => request.idempotency !== undefined),
  };
}

interface Asked {
  readonly deletes: Promise<ReadonlySet<number>> | undefined;
  readonly updates: Promise<ReadonlySet<number>> | undefined;
  readonly inserts: ReturnType<typeof insertObjects> | undefined;
  readonly keys: Promise<ReadonlySet<number>> | undefined;
  /** What is written whoever fits; rolled back when somebody does not. */
  readonly rest: readonly (Promise<void> | undefined)[];
}

/** Sends every statement of the transaction but its ends. `entries[i]` has version `first + i`. */
function ask(
  session: Session,
  { deletes, updates, inserts, entries, keyed }: Parts,
  first: number,
  ledger: Ledger | undefined,
  batch: readonly QueuedCommit[],
): Asked {
  const versions = entries.map((_, i) => first + i);
  const version = new Map(entries.map((queued, i) => [queued, first + i]));
  const made = first + deletes.length + updates.length;
  const keyedVersions = keyed.map((queued) => version.get(queued) ?? 0);
  return {
    deletes: deletes.length === 0 ? undefined : deleteObjects(session, first, deletes),
    updates: updates.length === 0 ? undefined : updateObjects(session, first + deletes.length, updates),
    inserts: inserts.length === 0 ? undefined : insertObjects(session, made, inserts),
    keys: keyed.length === 0 ? undefined : takeKeys(session, keyed, keyedVersions),
    rest: [
      // I5: in the transaction of the state that asked for them.
      storeEffects(session, entries, versions),
      recordEvents(session, entries, versions),
      writeChildren(session, entries),
      writeBlobRefs(session, entries),
      writeTimers(session, entries),
      writeSlots(session, entries),
      writeCredentials(session, entries),
      writeSecrets(session, entries),
      ledger?.write(
        session,
        batch.map((queued) => version.get(queued)),
      ),
    ],
  };
}

function answersIn(asked: Asked, forgotten: Promise<void> | undefined): readonly Promise<unknown>[] {
  const all = [forgotten, asked.deletes, asked.updates, asked.inserts, asked.keys, ...asked.rest];
  return all.filter((each) => each !== undefined);
}

/** Resolves, when all is answered, to those that do not fit. Rejects with pg's error when a statement failed and all fit. */
async function answersOf(
  { deletes, updates, inserts, keyed }: Parts,
  asked: Asked,
  forgotten: Promise<void> | undefined,
  objectsPerOrg: number,
): Promise<Refusals> {
  // The first one that failed says why: those behind it are only told that the transaction is over.
  const answers = await Promise.allSettled(answersIn(asked, forgotten));
  const failed = answers.find((each) => each.status === 'rejected');
  const [removed, replaced, inserted, taken] = await Promise.all([
    asked.deletes,
    asked.updates,
    asked.inserts,
    asked.keys,
  ]).catch((error: unknown) => {
    throw failed?.reason ?? error;
  });

  const unfit = new Map<QueuedCommit, CommitResult>();
  if (removed) missing(deletes, removed, STALE, unfit);
  if (replaced) missing(updates, replaced, STALE, unfit);
  if (inserted) missing(inserts, inserted.written, ALREADY_EXISTS, unfit);
  // Last word: a taken key answers its stored response, whatever else is wrong.
  if (taken) missing(keyed, taken, KEY_USED, unfit);
  // Only when all others fit: one that is refused for another reason takes nobody's place.
  if (unfit.size === 0) overQuota(inserts, inserted?.counts ?? new Map(), objectsPerOrg, unfit);
  if (unfit.size === 0 && failed) throw failed.reason;
  return unfit;
}

const STALE: CommitResult = { outcome: 'Stale' };
const ALREADY_EXISTS: CommitResult = { outcome: 'AlreadyExists' };
const KEY_USED: CommitResult = { outcome: 'KeyUsed' };

interface TakenClock {
  /** Version before the transaction's first. */
  readonly base: number;
  /** Id of the transaction. */
  readonly transaction: string;
}

interface ClockRefused {
  readonly base: undefined;
  readonly why: string;
}

/**
 * Precondition: none. Result: a transaction is open, the clock row is locked and on by `count`; the version before it.
 * Undefined: this process may not write here. Epoch and count are our own numbers, so they stand in the text.
 */
async function takeClock(
  session: Session,
  { epoch, newest }: Pick<TransactionOptions, 'epoch' | 'newest'>,
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

function missing(
  entries: readonly QueuedCommit[],
  found: ReadonlySet<number>,
  result: CommitResult,
  into: Map<QueuedCommit, CommitResult>,
): void {
  if (found.size === entries.length) return;
  entries.forEach((queued, i) => {
    if (!found.has(i)) into.set(queued, result);
  });
}

/** The newest of each org that has too many go. */
function overQuota(
  inserts: readonly QueuedCommit[],
  counts: ReadonlyMap<string, number>,
  limit: number,
  into: Map<QueuedCommit, CommitResult>,
): void {
  for (const [org, count] of counts) {
    let over = count - limit;
    for (let i = inserts.length - 1; i >= 0 && over > 0; i--) {
      const queued = inserts[i];
      if (queued === undefined || queued.request.address.org !== org || into.has(queued)) continue;
      into.set(queued, { outcome: 'QuotaExceeded', limit });
      over -= 1;
    }
  }
}
