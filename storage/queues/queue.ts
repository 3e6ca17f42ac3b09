/**
 * Owns the two places where BullMQ can keep its jobs: Postgres (the default; its own schema `bullmq` in the same
 * database) and Redis. It makes a queue and its worker for one name, and knows when a lost backend is back.
 * What the jobs mean is not known here.
 *
 * A job is a pointer to a row in our own tables, which alone are the truth (I6). So nothing here waits for a disk:
 * BullMQ's Postgres rows are written with `synchronous_commit=off`, and Redis needs no persistence.
 */
import { createPostgresBackend, Queue as RedisQueue, withBackend, Worker as RedisWorker } from 'bullmq';
import { HeardClient } from '../heard-client.js';

export type QueueBackend =
  | { readonly backend: 'postgres'; readonly url: string }
  | { readonly backend: 'redis'; readonly url: string };

/** One queue with its worker; the same on both backends. */
export interface Queue {
  /** All or, when the backend is away, none; rejects at once then. An id that is there already stays as it is. */
  readonly add: (jobs: readonly QueuedJob[]) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
  /** Waits for the jobs in hand, which see their signal aborted. */
  readonly close: () => Promise<void>;
}

export interface QueuedJob {
  /** Without `:`, and not a number: BullMQ refuses both. */
  readonly id: string;
  readonly delayMs: number;
  /** Plain JSON. */
  readonly pointer: unknown;
}

export interface QueueOptions {
  readonly name: string;
  /** Jobs that the worker has in hand at once. */
  readonly concurrency: number;
  /**
   * Carries out one job; the signal ends it when the queue closes. A rejection drops the job: who owns the row knows
   * what is still to be done, and queues again.
   */
  readonly process: (pointer: unknown, signal: AbortSignal) => Promise<void>;
  /** The backend was away and is back; what it held may be gone. */
  readonly onReconnect: () => void;
  readonly onError: (error: Error) => void;
}

/** Schema of BullMQ's tables, beside ours in the same database. */
const SCHEMA = 'bullmq';
/** Connections of a queue, and of its worker beside the one that listens. Idle ones are closed after 10 s. */
const POSTGRES_CONNECTIONS = 2;
/** A producer's query that takes longer is given up; the row in our tables is enough (ms). */
const QUERY_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Wait of a worker after its backend failed (ms); BullMQ's own 15 s would make every timer late. */
const WORKER_RETRY_MS = 500;
/** Events kept by BullMQ for `QueueEvents`, which nothing here reads. */
const KEPT_EVENTS = 10;
/** A worker that holds a job longer than this has died: the job is given to another (ms). */
const LOCK_MS = 30_000;

// A kept job blocks its id, and a timer's id comes back when it is armed again after a rearm.
const JOB = { removeOnComplete: true, removeOnFail: true } as const;
const WORKER = {
  runRetryDelay: WORKER_RETRY_MS,
  lockDuration: LOCK_MS,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} as const;

export async function openQueue(backend: QueueBackend, hooks: QueueOptions): Promise<Queue> {
  return backend.backend === 'postgres' ? openOnPostgres(backend.url, hooks) : openOnRedis(backend.url, hooks);
}

/** Rejects when the tables cannot be made or read. */
async function openOnPostgres(url: string, hooks: QueueOptions): Promise<Queue> {
  const connection = {
    connectionString: url,
    schema: SCHEMA,
    max: POSTGRES_CONNECTIONS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    application_name: `troupe queue ${hooks.name}`,
    options: '-c synchronous_commit=off',
    Client: HeardClient,
  };
  const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const queue = new PostgresQueue(hooks.name, { connection: { ...connection, migrate: true } });
  queue.on('error', hooks.onError);
  try {
    await queue.waitUntilReady();
  } catch (error) {
    await queue.close();
    throw error;
  }
  const closing = new AbortController();
  const worker = new PostgresWorker(hooks.name, (job) => hooks.process(job.data, closing.signal), {
    ...WORKER,
    connection,
    concurrency: hooks.concurrency,
  });
  return queueOf(queue, worker, hooks, closing);
}

function openOnRedis(url: string, hooks: QueueOptions): Queue {
  const connection = {
    url,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Soon at first, then every two seconds: a restarted Redis is found again within that time.
    retryStrategy: (times: number) => Math.min(50 * times, 2_000),
  };
  const queue = new RedisQueue(hooks.name, {
    // A producer fails at once while Redis is away: the caller's row is committed, and `onReconnect` brings it in.
    connection: { ...connection, enableOfflineQueue: false, maxRetriesPerRequest: 1 },
    streams: { events: { maxLen: KEPT_EVENTS } },
  });
  const closing = new AbortController();
  const worker = new RedisWorker(hooks.name, (job) => hooks.process(job.data, closing.signal), {
    ...WORKER,
    connection: { ...connection, maxRetriesPerRequest: null },
    concurrency: hooks.concurrency,
  });
  // Before the first connection BullMQ would let a producer wait without a bound.
  let connected = false;
  queue.on('ioredis:close', () => {
    connected = false;
  });
  queue.getBackend().on('ready', () => {
    // The first connection counts as a reconnect: what was to be added before it was refused.
    if (!connected) hooks.onReconnect();
    connected = true;
  });
  const opened = queueOf(queue, worker, hooks, closing);
  return {
    ...opened,
    add: (jobs) => (connected ? opened.add(jobs) : Promise.reject(new Error('Redis is not connected'))),
    remove: (id) => (connected ? opened.remove(id) : Promise.resolve()),
  };
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

function queueOf(queue: BullQueue, worker: BullWorker, hooks: QueueOptions, closing: AbortController): Queue {
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
    async close() {
      closing.abort();
      await Promise.allSettled([worker.close(), queue.close()]);
    },
  };
}
