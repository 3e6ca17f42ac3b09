/**
 * A queue whose jobs BullMQ keeps in Redis. It works again after Redis was away: the driver makes a lost connection again;
 * after one that never came to be (Redis ended, or refused what BullMQ asks first), queue and worker are made
 * anew, because BullMQ does not recover from that.
 */
import { createRedisBackend, withBackend } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CONNECT_TIMEOUT_MS,
  runningQueueJobs,
  linkOf,
  pacing,
  RETRY_MS,
  WORKER,
  type RunningQueueJobs,
  type Link,
} from './bull.js';
import type { Queue, QueueOptions } from './queue.js';

/** Events kept by BullMQ for `QueueEvents`, which nothing here reads. */
const KEPT_EVENTS = 10;
/** Longest pause between two attempts to reach a Redis that is away (ms): a restarted one is found within that time. */
const MOST_RECONNECT_MS = 2_000;
/**
 * Longest wait for a word of Redis while a command is under way (ms): more than the 10 s for which BullMQ lets a worker's
 * command block. A connection that receives nothing for longer is made again.
 */
const ANSWER_MS = 15_000;
/** Longest wait of a producer for one command (ms); the caller's row is enough, as when Redis is away. */
const COMMAND_MS = 10_000;
/** Idle time before a connection is probed (ms). */
const PROBE_MS = 10_000;
/** Longest pause before queue and worker are made anew (ms); what refused them is seldom mended sooner. */
const MOST_REMAKE_MS = 10_000;

const { Queue: RedisQueue, Worker: RedisWorker } = withBackend(pacing(createRedisBackend));

/** A link, and whether its first connection came to be. */
interface RedisLink extends Link {
  /** Rejects when it did not; may stay pending once the link is released. */
  readonly opened: Promise<void>;
  isConnected(): boolean;
}

export function openOnRedis(url: string, hooks: QueueOptions): Queue {
  const running = runningQueueJobs(hooks);
  const closing = new AbortController();
  let link = openLink(url, hooks, running);
  void remakeUntilOpened();

  async function remakeUntilOpened(): Promise<void> {
    for (let pause = RETRY_MS; ; pause = Math.min(2 * pause, MOST_REMAKE_MS)) {
      try {
        return await link.opened;
      } catch {
        // The link has reported the error.
      }
      if (closing.signal.aborted) return;
      await link.release(true);
      await link.end();
      await sleep(pause, undefined, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      link = openLink(url, hooks, running);
    }
  }

  return {
    add: (jobs) => (link.isConnected() ? link.add(jobs) : Promise.reject(new Error('Redis is not connected'))),
    remove: (id) => (link.isConnected() ? link.remove(id) : Promise.resolve()),
    async close() {
      closing.abort();
      running.stop();
      // BullMQ waits for ever for a connection that is being made again, unless its waits are turned off.
      await link.release(!link.isConnected());
      await running.emptied();
      await link.end();
    },
  };
}

function openLink(url: string, hooks: QueueOptions, running: RunningQueueJobs): RedisLink {
  const connection = {
    url,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: ANSWER_MS,
    keepAlive: PROBE_MS,
    // Soon at first.
    retryStrategy: (times: number) => Math.min(50 * times, MOST_RECONNECT_MS),
  };
  const queue = new RedisQueue(hooks.name, {
    // A producer fails at once while Redis is away: the caller's row is committed, and `onReconnect` brings it in.
    connection: { ...connection, enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: COMMAND_MS },
    streams: { events: { maxLen: KEPT_EVENTS } },
  });
  const worker = new RedisWorker(hooks.name, (job) => running.take(job.data), {
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
  const link = linkOf(queue, worker, hooks, async () => {
    // One that is being made again when it is closed would be made again for ever.
    const ends = [queue, worker].map(async (one) => (await one.getBackend().client).disconnect());
    await Promise.allSettled(ends);
  });
  const opened = Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return { ...link, opened: opened.then(() => {}), isConnected: () => connected };
}
