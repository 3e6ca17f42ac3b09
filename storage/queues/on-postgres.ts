/** A queue whose jobs BullMQ keeps in Postgres: its tables, and the connections to them. */
import { createPostgresBackend, type PgPool, runMigrations, withBackend } from 'bullmq';
import { ErrorSafePool } from '../error-safe-client.js';
import { CONNECT_TIMEOUT_MS, runningQueueJobs, linkOf, pacing, WORKER } from './bull.js';
import type { Queue, QueueOptions } from './queue.js';

/** Schema of BullMQ's tables, beside ours in the same database; the one that it takes when it is given a pool. */
const SCHEMA = 'bullmq';
/** Connections of a queue, and of its worker beside the one that listens. Idle ones are closed after 10 s. */
const CONNECTIONS = 2;
/** A query that takes longer is given up; the row in our tables is enough, and a worker asks again (ms). */
const QUERY_TIMEOUT_MS = 10_000;

const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(pacing(createPostgresBackend));

/** Rejects when the tables cannot be made or read. */
export async function openOnPostgres(url: string, hooks: QueueOptions): Promise<Queue> {
  const produced = openPool(url, hooks.name, CONNECTIONS);
  try {
    await migrate(produced);
  } catch (error) {
    await produced.end();
    throw error;
  }
  const worked = openPool(url, hooks.name, CONNECTIONS + 1);
  const queue = new PostgresQueue(hooks.name, { connection: produced });
  const running = runningQueueJobs(hooks);
  const worker = new PostgresWorker(hooks.name, (job) => running.take(job.data), {
    ...WORKER,
    connection: worked,
    concurrency: hooks.concurrency,
  });
  const link = linkOf(queue, worker, hooks, async () => {
    await Promise.allSettled([produced.end(), worked.end()]);
  });
  try {
    // BullMQ looks at the tables once, and a look that failed would fail every job of this queue, also when Postgres is back.
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  } catch (error) {
    running.stop();
    await link.release(true);
    await link.end();
    throw error;
  }
  return {
    add: link.add,
    remove: link.remove,
    async close() {
      running.stop();
      await link.release(false);
      await running.emptied();
      await link.end();
    },
  };
}

/**
 * A pool of ours, also for the connection that listens: BullMQ makes that one from pg's own `Client` otherwise, and takes its
 * listeners off before it ends it, so that a Postgres that goes in this moment would end the process.
 */
function openPool(url: string, name: string, max: number): PgPool {
  // A pool is what BullMQ's type describes; the two only write the overloads of `on` in different forms.
  return new ErrorSafePool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // BullMQ looks for it, to decide how long a worker may wait for a word.
    keepAlive: true,
    query_timeout: QUERY_TIMEOUT_MS,
    application_name: `troupe queue ${name}`,
    options: `-c synchronous_commit=off -c search_path=${SCHEMA} -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4`,
  }) as PgPool;
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
