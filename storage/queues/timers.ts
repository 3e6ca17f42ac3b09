/**
 * Fires every armed timer: at once or a few milliseconds after its time through BullMQ, and in any case
 * within seconds through a sweep over the rows.
 *
 * The protocol
 * - The row in Postgres is the truth (I6). It is written by the commit that arms the timer and removed by the commit
 *   that has dealt with it. Nothing here writes it. Firing is at least once; the object's actor ignores a firing whose
 *   generation is not the armed one (actors/resource/fold.ts).
 * - Rows due before `armedUntil` have been put into BullMQ; `armedUntil` moves ahead of the clock by up to the horizon
 *   as time passes. A timer armed for later is left in its row until then. So BullMQ holds a minute of timers, not years.
 * - Moving `armedUntil` reads the rows between the old and the new bound. It is moved before the read, so a timer that
 *   is armed meanwhile is put in by `arm`; one that both see has one id and is put in once.
 * - A lost or emptied backend: what failed to be added is forgotten, `armedUntil` falls back to now, and each sweep (or
 *   the news of a reconnect) tries again. Meanwhile, and for whatever else went wrong, every sweep fires the rows that
 *   are overdue; one that stays overdue is fired again at growing intervals.
 * - A cleared timer that was put in already is removed, as far as that is known, and remembered so that it wakes no object.
 *
 * Bounds (I10): the buffer of timers to put in (full: the row waits for the sweep), the list of removals (full: the job
 * comes and is dropped), the memory of cleared, of fired and of queued ids (full: an object is woken once without need).
 */
import { setImmediate as yieldTurn, setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Clock, Pending, StoredTimer } from '../store.js';
import { duePages, PAGE } from './pages.js';
import { fromPointer, timerId, toPointer, type TimerKey } from './pointer.js';
import type { Queue, QueueBackend } from './queue.js';
import { openQueue } from './open-queue.js';
import { atMost } from '../../src/lru-bound.js';

const MOST_BUFFERED = 20_000;
const MOST_REMOVALS = 10_000;
const MOST_REMEMBERED = 20_000;
/** Rows that one sweep fires at most; the next sweep goes on from there. */
const MOST_PER_SWEEP = 10_000;
/** A row overdue by less is still on its way through BullMQ (ms). */
const GRACE_MS = 1_000;
/** Sweeps come this often while the backend is away (ms). */
const AWAY_SWEEP_MS = 1_000;
/** Longest interval at which a row that stays overdue is fired again (ms). */
const MOST_REFIRE_MS = 60_000;
/** BullMQ counts on this machine's clock and we on Postgres's: a job that comes early waits this long at most (ms). */
const MOST_EARLY_MS = 1_000;
/** Removals on their way at once. */
const REMOVALS_AT_ONCE = 8;
const CONCURRENCY = 32;

export interface TimersOptions {
  readonly store: Pick<Pending, 'timersDue'>;
  readonly clock: Clock;
  readonly backend: QueueBackend;
  /** Names the queue within the backend; one store has one. */
  readonly name?: string | undefined;
  /** Wakes the object. Must not throw and not wait; at least once per arming, also for one that was cleared meanwhile. */
  readonly fire: (timer: StoredTimer) => void;
  readonly onError: (error: Error) => void;
  /** How far ahead rows are put into the backend (ms). More: more jobs there, of which most are cleared again. Less: more reads. */
  readonly horizonMs?: number | undefined;
  /** Interval of the sweep (ms): how late a timer can be when the backend forgot it, with the grace of a second on top. */
  readonly sweepMs?: number | undefined;
  /** Aborted: nothing is fired any more. */
  readonly signal: AbortSignal;
}

export interface Timers {
  /** After the commit that wrote the row. */
  arm(timer: StoredTimer): void;
  /** After the commit that removed the row. */
  clear(timer: TimerKey & { readonly at?: number | undefined }): void;
  /** Puts everything that is near into the backend again; resolves when that was tried. */
  rearm(): Promise<void>;
  /** `reachable`: the last attempt to add went well. `sweptMs`: age of the last complete sweep (I13). */
  state(): { readonly reachable: boolean; readonly buffered: number; readonly sweptMs: number };
  close(): Promise<void>;
}

export async function openTimers(options: TimersOptions): Promise<Timers> {
  const { store, clock, fire, onError, horizonMs = 60_000, sweepMs = 5_000 } = options;
  const closing = new AbortController();
  const ended = AbortSignal.any([options.signal, closing.signal]);

  const buffer = new Map<string, StoredTimer>();
  /** The last arming of each timer that is in the backend or on its way there. */
  const queued = new LRUCache<string, TimerKey>(atMost(MOST_REMEMBERED));
  const removals = new Set<string>();
  const cleared = new LRUCache<string, true>(atMost(MOST_REMEMBERED));
  const fired = new LRUCache<string, { readonly again: number; readonly wait: number }>(atMost(MOST_REMEMBERED));
  let armedUntil = clock();
  let reachable = true;
  let sweptAt = clock();
  /** Where the next sweep goes on when the last one had too much. */
  let overdueFrom = 0;
  let flushing: Promise<void> | undefined;
  let removing: Promise<void> | undefined;
  let sweeping: Promise<void> | undefined;
  /** Ends the pause between two sweeps. */
  let wake: () => void = noPause;

  const queue: Queue = await openQueue(options.backend, {
    name: options.name ?? 'timers',
    concurrency: CONCURRENCY,
    process: deliver,
    onReconnect: () => {
      forget();
      wake();
    },
    onError,
  });

  // ── firing ──

  async function deliver(pointer: unknown, signal: AbortSignal): Promise<void> {
    const timer = fromPointer(pointer);
    if (timer !== undefined && queued.get(nameOf(timer))?.generation === timer.generation) queued.delete(nameOf(timer));
    if (timer === undefined || cleared.has(timerId(timer))) return;
    const early = timer.at - clock();
    if (early > 0) await sleep(Math.min(early, MOST_EARLY_MS), undefined, { signal });
    if (!ended.aborted) fireOnce(timer, clock());
  }

  function fireOnce(timer: StoredTimer, now: number): void {
    const id = timerId(timer);
    const wait = Math.min((fired.get(id)?.wait ?? sweepMs / 2) * 2, MOST_REFIRE_MS);
    fired.set(id, { again: now + wait, wait });
    try {
      fire(timer);
    } catch (error) {
      onError(asError(error));
    }
  }

  // ── putting in and taking out ──

  function put(timer: StoredTimer): void {
    if (buffer.size >= MOST_BUFFERED) return;
    buffer.set(timerId(timer), timer);
    queued.set(nameOf(timer), timer);
    flushing ??= flush();
  }

  async function flush(): Promise<void> {
    // One turn, so that what is armed together is put in together.
    await yieldTurn();
    try {
      while (buffer.size > 0 && !ended.aborted) await flushBatch();
    } finally {
      // In the turn in which the buffer was seen empty, so that no timer is left behind without a flush.
      flushing = undefined;
    }
  }

  async function flushBatch(): Promise<void> {
    const batch = [...buffer].slice(0, PAGE);
    for (const [id] of batch) buffer.delete(id);
    const now = clock();
    try {
      await queue.add(batch.map(([id, timer]) => ({ id, delayMs: timer.at - now, pointer: toPointer(timer) })));
      reachable = true;
    } catch (error) {
      onError(asError(error));
      // The sweep that follows may be a long pause away.
      if (reachable) setTimeout(() => wake(), AWAY_SWEEP_MS).unref();
      forget();
    }
  }

  /** What the backend holds is unknown: the next sweep puts in everything that is near. */
  function forget(): void {
    reachable = false;
    buffer.clear();
    armedUntil = clock();
  }

  async function remove(): Promise<void> {
    await yieldTurn();
    while (removals.size > 0 && !ended.aborted) {
      const batch = [...removals].slice(0, REMOVALS_AT_ONCE);
      for (const id of batch) removals.delete(id);
      const results = await Promise.allSettled(batch.map((id) => queue.remove(id)));
      // What could not be removed comes later and is dropped then.
      if (results.some((result) => result.status === 'rejected')) removals.clear();
    }
    removing = undefined;
  }

  // ── sweeping ──

  async function sweep(): Promise<void> {
    try {
      await fireOverdue();
      await armNear();
      sweptAt = clock();
    } catch (error) {
      // Postgres is away; the next sweep tries again.
      onError(asError(error));
    }
  }

  async function fireOverdue(): Promise<void> {
    const now = clock();
    const before = reachable ? now - GRACE_MS : now;
    let count = 0;
    for await (const rows of duePages(store, overdueFrom, before)) {
      for (const timer of rows) {
        if (ended.aborted) return;
        overdueFrom = timer.at;
        if (cleared.has(timerId(timer)) || (fired.get(timerId(timer))?.again ?? 0) > now) continue;
        fireOnce(timer, now);
        count += 1;
      }
      if (count >= MOST_PER_SWEEP) return;
      await yieldTurn();
    }
    overdueFrom = 0;
  }

  async function armNear(): Promise<void> {
    const now = clock();
    const from = Math.max(armedUntil, now - GRACE_MS);
    const until = now + horizonMs;
    // Each quarter of the horizon: few reads, and never less than three quarters ahead.
    if (reachable && until - armedUntil < horizonMs / 4) return;
    const bound = armedUntil;
    armedUntil = until;
    reachable = true;
    try {
      for await (const rows of duePages(store, from, until)) {
        for (const timer of rows) if (!fired.has(timerId(timer))) put(timer);
        await flushing;
        if (ended.aborted || !reachable) return;
      }
    } catch (error) {
      armedUntil = Math.min(armedUntil, bound);
      throw error;
    }
  }

  function sweepNow(): Promise<void> {
    sweeping ??= sweep().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  async function run(): Promise<void> {
    while (!ended.aborted) {
      await sweepNow();
      if (!ended.aborted) await pause(reachable ? sweepMs : Math.min(sweepMs, AWAY_SWEEP_MS));
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timeout = setTimeout(wakeUp, ms);
      wake = wakeUp;
      function wakeUp(): void {
        clearTimeout(timeout);
        resolve();
      }
    });
  }

  // The rows that are near at the start are put in by the first sweep.
  armedUntil = clock() - GRACE_MS;
  reachable = false;
  ended.addEventListener('abort', () => wake(), { once: true });
  const running = run();

  return {
    arm(timer) {
      if (timer.at < armedUntil && !ended.aborted) put(timer);
    },
    clear(timer) {
      if (timer.at !== undefined && timer.at >= armedUntil) return;
      const near = queued.get(nameOf(timer));
      const putIn = near !== undefined && near.generation <= timer.generation;
      // A cancel names no generation: it means the arming that is there.
      const id = timerId(putIn ? near : timer);
      cleared.set(id, true);
      // Most were never put in: they were cleared long before their time.
      if (!putIn) return;
      queued.delete(nameOf(timer));
      if (buffer.delete(id) || removals.size >= MOST_REMOVALS || ended.aborted) return;
      removals.add(id);
      removing ??= remove();
    },
    async rearm() {
      await sweeping;
      forget();
      await sweepNow();
    },
    state: () => ({ reachable, buffered: buffer.size, sweptMs: Math.max(0, clock() - sweptAt) }),
    async close() {
      closing.abort();
      await running;
      await Promise.allSettled([flushing, removing, sweeping]);
      await queue.close();
    },
  };
}

/** One timer, whatever its arming. */
function nameOf({ uid, timer }: TimerKey): string {
  return `${uid}.${timer}`;
}

/** Stands in until the first pause. */
function noPause(): void {}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
