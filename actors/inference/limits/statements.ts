/**
 * Reads and writes the rows of many endpoints with few statements: at most one is under way, for up to MOST_AT_ONCE endpoints, and what is asked
 * for meanwhile goes together into the next. What somebody waits for goes at once; everything else waits for BACKGROUND_MS, so that more of it
 * goes together. A statement without an answer is given up after ANSWER_WITHIN_MS; it changes nothing when it arrives behind a later one.
 *
 * I10: what waits is a set of endpoints, of which there is a bound (`../limits.ts`).
 */
import { refuse } from '../../../src/api/refusal.js';
import type { StoredWindow, WindowKey, WindowRows } from '../../../storage/inference/windows.js';
import type { Clock, Lease } from '../../../storage/store.js';
import {
  answer,
  ANSWER_WITHIN_MS,
  canWait,
  draft,
  isTimely,
  undo,
  unwritten,
  wantsWrite,
  written,
  type EndpointUse,
  type Taken,
} from './endpoint-use.js';

const MOST_AT_ONCE = 500;
const BACKGROUND_MS = 50;
/** Before what nobody waits for is tried again. */
const AGAIN_MS = 500;
/** Rows are deleted when they were written longer ago (ms): more than any of them means something. */
const FORGOTTEN_AFTER_MS = 120_000;
const FORGOTTEN_AT_ONCE = 1_000;

export interface Waiter {
  /** When it asked (ms). */
  readonly asked: number;
  readonly taken: Taken;
  resolve(): void;
  reject(error: unknown): void;
}

/** An endpoint in memory. */
export interface Entry {
  readonly key: WindowKey;
  readonly use: EndpointUse;
  /** In the order in which they asked. */
  waiting: Waiter[];
  /** To be written with nothing ahead, and then forgotten unless it is used again before. */
  leaving: boolean;
}

export interface StatementsDeps {
  readonly rows: WindowRows;
  readonly lease: Pick<Lease, 'epoch'>;
  readonly clock: Clock;
  /** One that was to leave is written. */
  left(entry: Entry): void;
  onProblem(message: string): void;
}

export interface Statements {
  /** Rejects with a `RefusalError` Unavailable. */
  load(key: WindowKey): Promise<StoredWindow | undefined>;
  /** Its waiters are answered when that has ended. */
  write(entry: Entry, when: 'Now' | 'Soon'): void;
  /** It is written no more. */
  drop(entry: Entry): void;
  /** Deletes old rows, some time soon. */
  forget(): void;
  /** The statements that are under way, and those that are asked for now, have ended. */
  ended(): Promise<void>;
  /** What is asked for from now on is tried once. */
  close(): void;
}

interface Load {
  readonly key: WindowKey;
  resolve(row: StoredWindow | undefined): void;
  reject(error: unknown): void;
}

export function openStatements({ rows, lease, clock, left, onProblem }: StatementsDeps): Statements {
  const loads = new Set<Load>();
  const now = new Set<Entry>();
  const soon = new Set<Entry>();
  let forgetting = false;
  let sequence = 0;
  let failing = false;
  let closed = false;
  let busy: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function loadSome(): Promise<void> {
    const some = takeSome(loads, MOST_AT_ONCE);
    if (some.length === 0) return;
    try {
      const found = await answered(rows.load(some.map(({ key }) => key)));
      const byId = new Map(found.map((row) => [idOf(row), row]));
      for (const { key, resolve, reject } of some) {
        const row = byId.get(idOf(key));
        if (row !== undefined && row.epoch > lease.epoch) reject(fenced());
        else resolve(row);
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  async function writeSome(): Promise<void> {
    const urgent = takeSome(now, MOST_AT_ONCE);
    for (const entry of urgent) soon.delete(entry);
    const some = [...urgent, ...takeSome(soon, MOST_AT_ONCE - urgent.length)];
    if (some.length === 0) return;
    const drafts = some.map((entry) => {
      const waiters = entry.waiting.filter(({ asked }) => canWait(asked, clock()));
      const late = entry.waiting.filter((waiter) => !waiters.includes(waiter));
      entry.waiting = [];
      refuseAll(entry, late, tooLate());
      const exact = entry.leaving;
      const answering = waiters.map(({ taken }) => taken);
      return { entry, waiters, exact, draft: draft(entry.use, clock(), answering, exact) };
    });
    const writes = drafts.map(({ entry: { key }, draft: { body } }) => {
      sequence += 1;
      return { ...key, sequence, body };
    });
    try {
      if ((await answered(rows.write(lease.epoch, writes))) === 'Fenced') throw fenced();
      // The process may have stood still.
      if (!drafts.every(({ draft: made }) => isTimely(made, clock()))) throw tooLate();
    } catch (error) {
      if (!failing) onProblem(error instanceof Error ? error.message : 'failed');
      failing = true;
      for (const { entry, waiters } of drafts) fail(entry, waiters, error);
      if (closed) for (const entry of takeSome(now, now.size)) fail(entry, entry.waiting.splice(0), error);
      return;
    }
    failing = false;
    for (const { entry, waiters, exact, draft: stored } of drafts) {
      written(entry.use, stored);
      for (const { taken, resolve } of waiters) {
        answer(entry.use, taken, clock());
        resolve();
      }
      if (entry.leaving && exact) left(entry);
      else if (wantsWrite(entry.use)) soon.add(entry);
    }
  }

  function fail(entry: Entry, waiters: readonly Waiter[], error: unknown): void {
    entry.leaving = false;
    unwritten(entry.use);
    soon.add(entry);
    refuseAll(entry, waiters, error);
  }

  async function forgetSome(): Promise<void> {
    if (!forgetting) return;
    forgetting = false;
    try {
      await answered(rows.forget(lease.epoch, FORGOTTEN_AFTER_MS, FORGOTTEN_AT_ONCE));
    } catch {
      // Asked for again with the next sweep; an outage is told of by what it keeps from being written.
    }
  }

  async function work(): Promise<void> {
    do {
      await loadSome();
      await writeSome();
      await forgetSome();
    } while (loads.size > 0 || now.size > 0);
    busy = undefined;
    if (soon.size > 0 && !closed) later(failing ? AGAIN_MS : BACKGROUND_MS);
  }

  function start(): void {
    if (busy !== undefined) return;
    clearTimeout(timer);
    timer = undefined;
    // In the next turn, so that what is asked for in this one goes with it.
    busy = Promise.resolve().then(work);
  }

  function later(ms: number): void {
    if (busy !== undefined || timer !== undefined || closed) return;
    timer = setTimeout(start, ms);
    timer.unref();
  }

  return {
    load: (key) =>
      new Promise((resolve, reject) => {
        loads.add({ key, resolve, reject });
        start();
      }),
    write(entry, when) {
      if (when === 'Now') {
        now.add(entry);
        start();
        return;
      }
      soon.add(entry);
      later(BACKGROUND_MS);
    },
    drop(entry) {
      now.delete(entry);
      soon.delete(entry);
    },
    forget() {
      forgetting = true;
      later(BACKGROUND_MS);
    },
    async ended() {
      start();
      await busy;
    },
    close() {
      closed = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

export function idOf({ org, uid }: WindowKey): string {
  return `${org}/${uid}`;
}

function refuseAll({ use }: Entry, waiters: readonly Waiter[], error: unknown): void {
  for (const { taken, reject } of waiters) {
    undo(use, taken);
    reject(error);
  }
}

function fenced(): Error {
  return refuse('Unavailable', 'another process has taken over; ask again', { retryAfterSeconds: 1 });
}

function tooLate(): Error {
  return refuse('Unavailable', 'storage did not answer in time', { retryAfterSeconds: 1 });
}

function takeSome<One>(set: Set<One>, most: number): One[] {
  const some: One[] = [];
  for (const one of set) {
    if (some.length >= most) break;
    some.push(one);
    set.delete(one);
  }
  return some;
}

/** Rejects when there is no answer in time; it may come later, and has no reader then. */
async function answered<Answer>(statement: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), ANSWER_WITHIN_MS);
  });
  try {
    return await Promise.race([statement, over]);
  } finally {
    clearTimeout(timer);
    statement.catch(() => undefined);
  }
}
