/**
 * Group commit: commits wait in a queue, share transactions, and two transactions may be under way.
 *
 * While one transaction is under way the next batch fills. A second transaction starts beside it only when many commits
 * wait: it is then encoded and sent while the first holds the clock row, and waits for that row inside Postgres. Which
 * commits share a transaction is in `groups.ts`.
 *
 * I1: this is the only writer of objects. I3: each transaction checks the lease epoch; once that is lost every commit,
 * now and later, is Fenced. I10: at most `MOST_WAITING` wait; the next is Unavailable at once. None waits longer than
 * `LONGEST_WAIT` for a place in a batch.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkOperation, type MoneyOperation } from '../../src/money/operation.js';
import { TTL } from '../lease.js';
import type { Postgres } from '../postgres.js';
import { bytesOf, keysOf, OPERATION_BYTES, type Queued, type QueuedCommit } from './queued-commit.js';
import { runBatch } from './batch-runner.js';
import { openVersionPrediction } from './version-prediction.js';
import { openGroups } from './groups.js';
import { responseParts, type SealResponse } from './idempotency-keys.js';
import { keepAnswer } from './keep-answer.js';
import { openCommitConnection } from './connection.js';
import type { DecidedMoney } from './transaction.js';
import type { CommitFailure, CommittedChange, Committer, CommitRequest } from './request.js';
import { openPublishOrder } from './publish-order.js';

/**
 * So many must wait before a second transaction starts beside the first. More of them leave this process idle while
 * Postgres works, fewer make transactions that cost more than they carry (measured: patches 10 % faster than from 32).
 */
const SECOND_FROM = 8;
const CONNECTIONS = 2;
/** Commits that wait, at most. At 5,000 commits/s this is what LONGEST_WAIT can take anyway. */
const MOST_WAITING = 50_000;
/** Operations of one call of `ledger`. */
const MOST_OPERATIONS = 1_000;
/** From the ask until the last try (ms). */
const LONGEST_WAIT = 10_000;
/** A batch that has just started may try for this long even when its commits have waited (ms). */
const SHORTEST_TRY = 2_000;

export interface CommitterOptions {
  readonly postgres: Postgres;
  /** Epoch of the lease that allows these commits. */
  readonly epoch: number;
  /** Time that the lease holds without renewal (ms): no statement takes half of it. Default: as of the lease. */
  readonly leaseMs?: number | undefined;
  /** Seals an idempotency response for its row. */
  readonly seal: SealResponse;
  /** Called in version order, before any of these commits is answered. Must not throw. */
  publish(changes: CommittedChange[]): void;
  /**
   * Called once, when this process may not write any more: another epoch holds the lease, or the database is not the one
   * that it was. The caller gives the lease up.
   */
  onFenced(why: string): void;
  /** Objects that an org may have. */
  readonly objectsPerOrg: number;
  /** Longest wait of `close` for what is under way (ms). Default 10 s. */
  readonly closeWithin?: number | undefined;
  /** Called with each decision about money, in their order: a log by which they can be checked. Must not throw. */
  readonly onMoney?: ((decided: DecidedMoney) => void) | undefined;
  /** Monotonic ms. */
  readonly monotonic?: (() => number) | undefined;
}

type State = 'open' | 'fenced' | 'closed';

/** Precondition: the lease is held, so no other process commits. Rejects when Postgres cannot be reached. */
export async function openCommitter(options: CommitterOptions): Promise<Committer & { readonly head: number }> {
  const { postgres } = options;
  const now = options.monotonic ?? (() => performance.now());
  const connections = Array.from({ length: CONNECTIONS }, () => ({
    connection: openCommitConnection(postgres, options.leaseMs ?? TTL),
    busy: false,
  }));
  const head = await readHead(postgres);
  const order = openPublishOrder(head, (changes) => options.publish(changes));
  const stop = new AbortController();

  let state: State = 'open';
  let waiting: Queued[] = [];
  let scheduled = false;
  const groups = openGroups<Queued>();
  let idle: (() => void)[] = [];

  const batchOptions = {
    epoch: options.epoch,
    clock: openVersionPrediction(head),
    objectsPerOrg: options.objectsPerOrg,
    newest: order.newest,
    now,
    pause: (ms: number) => sleep(ms, undefined, { signal: stop.signal }).catch(() => {}),
    abandoned: () => stop.signal.aborted,
    onCommitted: (first: number, entries: readonly QueuedCommit[]) => order.committed(first, entries),
    onFenced: fence,
    onMoney: options.onMoney,
  };

  function fence(why: string): void {
    if (state === 'fenced') return;
    state = 'fenced';
    answerAll({ outcome: 'Fenced' });
    order.abandon();
    options.onFenced(why);
  }

  function answerAll(result: CommitFailure): void {
    const all = waiting;
    waiting = [];
    for (const queued of all) queued.resolve(result);
  }

  // After this turn of the event loop, so that all commits of it share the batch.
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  }

  function pump(): void {
    for (;;) {
      const free = connections.find(({ busy }) => !busy);
      const underWay = connections.some(({ busy }) => busy);
      if (free === undefined || waiting.length === 0 || (underWay && waiting.length < SECOND_FROM)) break;
      const { group, left } = groups.take(waiting);
      waiting = left;
      if (group.length === 0) break;
      free.busy = true;
      const oldest = Math.min(...group.map(({ since }) => since));
      const deadline = Math.max(oldest + LONGEST_WAIT, now() + SHORTEST_TRY);
      // A rejection here is an error of ours (publish threw): it must end the process, not leave commits unanswered.
      void run(free, group, deadline);
    }
    if (waiting.length === 0 && connections.every(({ busy }) => !busy)) {
      for (const resolve of idle) resolve();
      idle = [];
    }
  }

  async function run(by: (typeof connections)[number], group: readonly Queued[], deadline: number): Promise<void> {
    await runBatch(by.connection, group, deadline, batchOptions);
    by.busy = false;
    // I4: with nothing under way every version has its batch. A gap stays one: what is behind it would wait for ever.
    const missing = stop.signal.aborted || connections.some(({ busy }) => busy) ? undefined : order.missing();
    if (missing !== undefined) fence(`version ${missing} was written to the database by another`);
    groups.ended(group);
    schedule();
  }

  /** Why nothing is taken now; undefined: it is. */
  function refusalNow(): CommitFailure | undefined {
    if (state === 'fenced') return { outcome: 'Fenced' };
    if (state === 'closed') return { outcome: 'Unavailable', message: 'storage is closing' };
    if (waiting.length >= MOST_WAITING) return { outcome: 'Unavailable', message: 'too many writes are waiting' };
    return undefined;
  }

  const expiry = setInterval(() => {
    const before = now() - LONGEST_WAIT;
    if (waiting[0] === undefined || waiting[0].since > before) return;
    const late = waiting.filter((queued) => queued.since <= before);
    waiting = waiting.filter((queued) => queued.since > before);
    for (const queued of late) queued.resolve({ outcome: 'Unavailable', message: 'storage did not answer in time' });
  }, 500);
  expiry.unref();

  return {
    head,

    commit(request, before) {
      const closed = refusalNow();
      if (closed !== undefined) return Promise.resolve(closed);
      const prepared = prepare(request, options.seal);
      if (prepared.wrong !== undefined) return Promise.resolve({ outcome: 'Unavailable', message: prepared.wrong });
      return new Promise((resolve) => {
        waiting.push({
          type: 'Object',
          request,
          before,
          keys: keysOf(request),
          bytes: bytesOf(request),
          since: now(),
          sealed: prepared.sealed,
          resolve,
        });
        schedule();
      });
    },

    ledger(org, operations) {
      const closed = refusalNow();
      if (closed !== undefined) return Promise.resolve(closed);
      const wrong = wrongOperation(operations);
      if (wrong !== undefined) return Promise.resolve({ outcome: 'Unavailable', message: wrong });
      const bytes = operations.length * OPERATION_BYTES;
      return new Promise((resolve) => {
        waiting.push({ type: 'Ledger', org, operations, keys: [], bytes, since: now(), resolve });
        schedule();
      });
    },

    async keepAnswer(org, write, version) {
      if (state === 'fenced') return { outcome: 'Fenced' };
      const sealed = options.seal(responseParts(org, write.holder, write.key), write.response);
      return keepAnswer(postgres, options.epoch, org, write, sealed, version);
    },

    depth() {
      const oldest = waiting[0];
      return { waiting: waiting.length, oldestMs: oldest === undefined ? 0 : now() - oldest.since };
    },

    async close() {
      if (state === 'open') state = 'closed';
      const done = new Promise<void>((resolve) => idle.push(resolve));
      schedule();
      const timeout = sleep(options.closeWithin ?? LONGEST_WAIT, undefined, { signal: stop.signal }).catch(() => {});
      await Promise.race([done, timeout]);
      stop.abort();
      clearInterval(expiry);
      answerAll({ outcome: 'Unavailable', message: 'storage is closing' });
      await Promise.all(connections.map(({ connection }) => connection.close()));
      // Their connections are gone, so what is still under way ends now.
      schedule();
      await done;
      order.abandon();
    },
  };
}

type Prepared = { readonly wrong: string } | { readonly wrong: undefined; readonly sealed: Buffer | undefined };

/** Faults of one commit alone show here, before it shares a transaction. */
function prepare(request: CommitRequest, seal: SealResponse): Prepared {
  try {
    // I7
    const wrong = wrongOperation(request.money);
    if (wrong !== undefined) return { wrong };
    const write = request.idempotency;
    if (write === undefined) return { wrong: undefined, sealed: undefined };
    return {
      wrong: undefined,
      sealed: write.response && seal(responseParts(request.address.org, write.holder, write.key), write.response),
    };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : 'it cannot be prepared' };
  }
}

/** What no book could carry out, said before it shares a transaction. */
function wrongOperation(operations: readonly MoneyOperation[]): string | undefined {
  if (operations.length > MOST_OPERATIONS) return `more than ${MOST_OPERATIONS} operations of the ledger at once`;
  try {
    for (const operation of operations) checkOperation(operation);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'an operation of the ledger cannot be carried out';
  }
}

async function readHead(postgres: Postgres): Promise<number> {
  const [row] = await postgres.readRows<[number]>({ name: 'head', text: 'SELECT version FROM clock' });
  if (row === undefined) throw new Error('the clock row is missing');
  return row[0];
}
