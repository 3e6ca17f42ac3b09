/** Opens a queue on the backend that the settings choose. */
import { openOnPostgres } from './on-postgres.js';
import { openOnRedis } from './on-redis.js';
import type { Queue, QueueBackend, QueueOptions } from './queue.js';

/** Rejects when Postgres cannot be reached or its tables cannot be made; a Redis that is away may come later. */
export async function openQueue(backend: QueueBackend, hooks: QueueOptions): Promise<Queue> {
  return backend.backend === 'postgres' ? openOnPostgres(backend.url, hooks) : openOnRedis(backend.url, hooks);
}
