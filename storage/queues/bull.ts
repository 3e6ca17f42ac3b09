/**
 * What Troupe asks of BullMQ on both backends: jobs are added and removed, some are worked on, a failing backend is asked
 * again at growing intervals, and closing takes bounded time. How a backend is reached is in `on-postgres.ts`
 * and `on-redis.ts`.
 */
import { isNotConnectionError, type BackendFactory, type IQueueBackend } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QueuedJob, QueueOptions } from './queue.js';

export const CONNECT_TIMEOUT_MS = 5_000;
/** Pause after a fetch that failed (ms); BullMQ's own 15 s would make every timer late. */
export const RETRY_MS = 500;
/** A worker that holds a job longer than this has died: the job is given to another (ms). */
const LOCK_MS = 30_000;
/** Longest wait for BullMQ to say good-bye to its backend (ms). Less: jobs in hand may be carried out again after the start. */
const CLOSE_MS = 3_000;

// A kept job blocks its id, and a timer's id comes back when it is armed again after a rearm.
const JOB = { removeOnComplete: true, removeOnFail: true } as const;

export const WORKER = {
  runRetryDelay: RETRY_MS,
  lockDuration: LOCK_MS,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} as const;

/** A queue and its worker, connected or trying to be. */
export interface Link {
  add(jobs: readonly QueuedJob[]): Promise<void>;
  remove(id: string): Promise<void>;
  /** Takes no more jobs and waits for those in hand, some seconds at most; `force`: waits for nothing. */
  release(force: boolean): Promise<void>;
  /** Ends the connections, released before. */
  end(): Promise<void>;
}

interface BullQueue {
  addBulk(jobs: { name: string; data: unknown; opts: object }[]): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

interface BullWorker {
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(force?: boolean): Promise<void>;
}

export function linkOf(queue: BullQueue, worker: BullWorker, hooks: QueueOptions, end: () => Promise<void>): Link {
  // An 'error' without a listener would end the process.
  queue.on('error', hooks.onError);
  worker.on('error', hooks.onError);
  return {
    async add(jobs) {
      await queue.addBulk(
        jobs.map((job) => ({
          name: hooks.name,
          data: job.pointer,
          opts: { ...JOB, jobId: job.id, delay: Math.max(0, Math.round(job.delayMs)) },
        })),
      );
    },
    async remove(id) {
      // What it answers for an active or missing job differs between the backends, and does not matter.
      await queue.remove(id);
    },
    release: (force) => atMost(CLOSE_MS, Promise.allSettled([worker.close(force), queue.close()])),
    end: () => atMost(CLOSE_MS, end()),
  };
}

/**
 * The same backend, whose failing fetches take their time. BullMQ pauses only after those that it takes for a lost
 * connection. After any other (Redis without memory or without a right, Postgres that starts or has no connection left) it
 * asks again at once; and a connection that could not be set up fails without a turn of the event loop, so that nothing
 * else in the process would ever run again.
 */
export function pacing<B extends IQueueBackend, C>(make: BackendFactory<B, C>): BackendFactory<B, C> {
  return (...given) => {
    const backend = make(...given);
    const fetch = backend.moveToActive.bind(backend);
    backend.moveToActive = async (...asked) => {
      try {
        return await fetch(...asked);
      } catch (error) {
        if (isNotConnectionError(error as Error)) await sleep(RETRY_MS);
        throw error;
      }
    };
    return backend;
  };
}

/** The jobs that are being carried out. */
export interface RunningQueueJobs {
  take(pointer: unknown): Promise<void>;
  /** Tells all of them to stop, and every later one. */
  stop(): void;
  /** Resolves when none is left. */
  emptied(): Promise<void>;
}

export function runningQueueJobs(hooks: QueueOptions): RunningQueueJobs {
  const closing = new AbortController();
  const jobs = new Set<Promise<void>>();
  return {
    async take(pointer) {
      const job = hooks.process(pointer, closing.signal);
      jobs.add(job);
      try {
        await job;
      } finally {
        jobs.delete(job);
      }
    },
    stop: () => closing.abort(),
    emptied: async () => void (await Promise.allSettled(jobs)),
  };
}

/** Resolves with the work, however that ends, or when the time (ms) is over. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work.catch(() => {}), sleep(ms, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
}
