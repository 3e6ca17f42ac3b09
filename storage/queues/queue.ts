/**
 * Owns the two places where BullMQ can keep its jobs: Postgres (the default; its own schema `bullmq` in the same
 * database) and Redis. It makes a queue and its worker for one name, and knows when a lost backend is back.
 * What the jobs mean is not known here.
 *
 * A job is a pointer to a row in our own tables, which alone are the truth (I6). So nothing here waits for a disk:
 * BullMQ's Postgres rows are written with `synchronous_commit=off`, and Redis needs no persistence.
 */
import {
  createPostgresBackend,
  type PgPool,
  Queue as RedisQueue,
  runMigrations,
  withBackend,
  Worker as RedisWorker,
} from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { HeardClient } from '../heard-client.js';

export type QueueBackend =
  | { readonly backend: 'postgres'; readonly url: string }
  | { readonly backend: 'redis'; readonly url: string };

/** One queue with its worker; the same on both backends. */
export interface Queue {
  /** All or, when the backend is away, none; rejects at once then. An id that is there already stays as it is. */
  readonly add: (jobs: readonly QueuedJob[]) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
  /** Waits for the jobs in hand, which see their signal aborted; for the backend, which may be away, some seconds at most. */
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

/** Schema of BullMQ's tables, beside ours in the same database; the one that it takes when it is given a pool. */
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
/** Longest wait for BullMQ to say good-bye to its backend (ms). Less: jobs in hand may be carried out again after the start. */
const CLOSE_MS = 3_000;

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
  const produced = openPool(url, hooks.name, POSTGRES_CONNECTIONS);
  try {
    await migrate(produced);
  } catch (error) {
    await produced.end();
    throw error;
  }
  const worked = openPool(url, hooks.name, POSTGRES_CONNECTIONS + 1);
  const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const queue = new PostgresQueue(hooks.name, { connection: produced });
  const hand = handOf(hooks);
  const worker = new PostgresWorker(hooks.name, (job) => hand.take(job.data), {
    ...WORKER,
    connection: worked,
    concurrency: hooks.concurrency,
  });
  return queueOf(queue, worker, hooks, hand, {
    isConnected: () => true,
    end: async () => void (await Promise.allSettled([produced.end(), worked.end()])),
  });
}

/**
 * A pool of ours, also for the connection that listens: BullMQ makes that one from pg's own `Client` otherwise, and takes its
 * listeners off before it ends it, so that a Postgres that goes in this moment would end the process.
 */
function openPool(url: string, name: string, max: number): PgPool {
  const pool = new Pool({
    connectionString: url,
    max,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    application_name: `troupe queue ${name}`,
    options: `-c synchronous_commit=off -c search_path=${SCHEMA}`,
    Client: HeardClient,
  });
  // BullMQ passes the errors of idle connections on while it is open; the pool outlives it by a moment.
  pool.on('error', () => {});
  // A pool is what BullMQ's type describes; the two only write the overloads of `on` in different forms.
  return pool as PgPool;
}

async function migrate(pool: PgPool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client, SCHEMA);
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
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
  const hand = handOf(hooks);
  const worker = new RedisWorker(hooks.name, (job) => hand.take(job.data), {
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
  const opened = queueOf(queue, worker, hooks, hand, {
    isConnected: () => connected,
    // One that is being made again when it is closed would be made again for ever.
    async end() {
      const ends = [queue, worker].map(async (one) => (await one.getBackend().client).disconnect());
      await Promise.allSettled(ends);
    },
  });
  return {
    ...opened,
    add: (jobs) => (connected ? opened.add(jobs) : Promise.reject(new Error('Redis is not connected'))),
    remove: (id) => (connected ? opened.remove(id) : Promise.resolve()),
  };
}

/** The jobs that are being carried out. */
interface Hand {
  take(pointer: unknown): Promise<void>;
  /** Tells all of them to stop, and every later one. */
  stop(): void;
  /** Resolves when none is left. */
  emptied(): Promise<void>;
}

function handOf(hooks: QueueOptions): Hand {
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

/** What differs between the backends when a queue is closed. */
interface Ending {
  readonly isConnected: () => boolean;
  /** Ends the connections, once BullMQ is done with them. */
  readonly end: () => Promise<void>;
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

function queueOf(queue: BullQueue, worker: BullWorker, hooks: QueueOptions, hand: Hand, ending: Ending): Queue {
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
      hand.stop();
      // BullMQ waits for ever for a connection that is being made again, unless it is told to wait for nothing.
      const force = !ending.isConnected();
      await atMost(CLOSE_MS, Promise.allSettled([worker.close(force), queue.close()]));
      await hand.emptied();
      await atMost(CLOSE_MS, ending.end());
    },
  };
}

/** Resolves with the work, however that ends, or when the time (ms) is over. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work.catch(() => {}), sleep(ms, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
}
