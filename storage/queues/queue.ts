/**
 * A queue, whichever of the two backends keeps its jobs: Postgres (the default) or Redis. It does not know what the jobs
 * mean.
 *
 * A job is a pointer to a row in our own tables, which alone are the truth (I6). So no queue waits for a disk:
 * BullMQ's Postgres rows are written with `synchronous_commit=off`, and Redis needs no persistence.
 */
export type QueueBackend =
  | { readonly backend: 'postgres'; readonly url: string }
  | { readonly backend: 'redis'; readonly url: string };

/** One queue with its worker; the same on both backends. */
export interface Queue {
  /** All or, when the backend is away, none; rejects at once then, and after some seconds when it is silent. An id that is there already stays as it is. */
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
