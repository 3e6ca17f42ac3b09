/** The statements of one transaction between its ends: all are sent at once, and their answers say which commits do not fit. */
import type { Ledger } from './admit-money.js';
import { deleteObjects } from './delete-objects.js';
import { takeKeys } from './idempotency-keys.js';
import { insertObjects } from './insert-objects.js';
import type { QueuedCommit } from './queued-commit.js';
import type { CommitResult } from './request.js';
import type { Session } from './session.js';
import { updateObjects } from './update-objects.js';
import { writeBlobRefs } from './write-blob-refs.js';
import { writeCredentials } from './write-credentials.js';
import { storeEffects } from './write-effects.js';
import { recordEvents } from './write-events.js';
import { writeOwners } from './write-owners.js';
import { writeSecrets } from './write-secrets.js';
import { writeSlots } from './write-slots.js';
import { writeTimers } from './write-timers.js';

export type Refusals = ReadonlyMap<QueuedCommit, CommitResult>;

/** Ordered by statement, so that each statement's versions follow one another. */
export interface Parts {
  readonly deletes: readonly QueuedCommit[];
  readonly updates: readonly QueuedCommit[];
  readonly inserts: readonly QueuedCommit[];
  /** All of them: deletes, updates, inserts. */
  readonly entries: readonly QueuedCommit[];
  /** Those with an Idempotency-Key. */
  readonly keyed: readonly QueuedCommit[];
}

export function partsOf(admitted: readonly QueuedCommit[]): Parts {
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

export interface Sent {
  readonly deletes: Promise<ReadonlySet<number>> | undefined;
  readonly updates: Promise<ReadonlySet<number>> | undefined;
  readonly inserts: ReturnType<typeof insertObjects> | undefined;
  readonly keys: Promise<ReadonlySet<number>> | undefined;
  /** What is written whichever fit; rolled back when one does not. */
  readonly rest: readonly (Promise<unknown> | undefined)[];
}

/** Sends every statement of the transaction but its ends. `entries[i]` has version `first + i`. */
export function sendStatements(
  session: Session,
  { deletes, updates, inserts, entries, keyed }: Parts,
  first: number,
  ledger: Ledger | undefined,
): Sent {
  const versions = entries.map((_, i) => first + i);
  const version = new Map(entries.map((queued, i) => [queued, first + i]));
  const made = first + deletes.length + updates.length;
  const keyedVersions = keyed.map((queued) => version.get(queued) ?? 0);
  const objects = session.together(() => ({
    deletes: deletes.length === 0 ? undefined : deleteObjects(session, first, deletes),
    updates: updates.length === 0 ? undefined : updateObjects(session, first + deletes.length, updates),
    inserts: inserts.length === 0 ? undefined : insertObjects(session, made, inserts),
    keys: keyed.length === 0 ? undefined : takeKeys(session, keyed, keyedVersions),
    rest: [
      // I5: in the transaction of the state that asked for them.
      storeEffects(session, entries, versions),
      recordEvents(session, entries, versions),
      writeOwners(session, entries),
      writeBlobRefs(session, entries),
      writeTimers(session, entries),
      writeSlots(session, entries),
      writeCredentials(session, entries),
      writeSecrets(session, entries),
    ],
  }));
  return { ...objects, rest: [...objects.rest, ledger?.write(session, version)] };
}

export function answersIn(sent: Sent, forgotten: Promise<unknown> | undefined): readonly Promise<unknown>[] {
  const all = [forgotten, sent.deletes, sent.updates, sent.inserts, sent.keys, ...sent.rest];
  return all.filter((each) => each !== undefined);
}

/** Resolves, when all is answered, to those that do not fit. Rejects with pg's error when a statement failed and all fit. */
export async function misfitsOf(
  { deletes, updates, inserts, keyed }: Parts,
  sent: Sent,
  forgotten: Promise<unknown> | undefined,
  objectsPerOrg: number,
): Promise<Refusals> {
  // The first one that failed says why: those behind it only say that the transaction is over.
  const answers = await Promise.allSettled(answersIn(sent, forgotten));
  const failed = answers.find((each) => each.status === 'rejected');
  const [removed, replaced, inserted, taken] = await Promise.all([
    sent.deletes,
    sent.updates,
    sent.inserts,
    sent.keys,
  ]).catch((error: unknown) => {
    throw failed?.reason ?? error;
  });

  const misfits = new Map<QueuedCommit, CommitResult>();
  if (removed) missing(deletes, removed, STALE, misfits);
  if (replaced) missing(updates, replaced, STALE, misfits);
  if (inserted) missing(inserts, inserted.written, ALREADY_EXISTS, misfits);
  // Last word: a taken key answers its stored response, whatever else is wrong.
  if (taken) missing(keyed, taken, KEY_USED, misfits);
  // Only when all others fit: one that is refused for another reason takes no other's place.
  if (misfits.size === 0) overQuota(inserts, inserted?.counts ?? new Map(), objectsPerOrg, misfits);
  if (misfits.size === 0 && failed) throw failed.reason;
  return misfits;
}

const STALE: CommitResult = { outcome: 'Stale' };
const ALREADY_EXISTS: CommitResult = { outcome: 'AlreadyExists' };
const KEY_USED: CommitResult = { outcome: 'KeyUsed' };

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

/** What was paid for, and what the service makes with an org, is never too much. */
const BEYOND_QUOTA: ReadonlySet<string> = new Set(['CreditGrant', 'Wallet']);

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
      if (BEYOND_QUOTA.has(queued.request.address.kind)) continue;
      into.set(queued, { outcome: 'QuotaExceeded', limit });
      over -= 1;
    }
  }
}
