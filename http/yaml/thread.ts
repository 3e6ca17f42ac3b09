/**
 * A thread that does work with YAML beside the event loop, one piece at a time; orgs take turns. It is started when the first piece comes,
 * and keeps no process alive.
 *
 * I10: the thread has one piece in hand, for a bounded time and within its own memory; a piece that needs more is refused, and the thread is
 * replaced. At most MOST_WAITING pieces of one org wait; one more is refused with Unavailable.
 */
import { Worker } from 'node:worker_threads';
import { OrgRoundRobin } from '../../actors/effects/org-round-robin.js';
import { refuse } from '../../src/api/refusal.js';

const MOST_WAITING = 32;
const MEMORY_MB = 256;

export interface YamlThread<Result> {
  run(org: string, bytes: Uint8Array): Promise<Result>;
  close(): void;
}

export interface YamlThreadOptions {
  readonly task: YamlTask['task'];
  /** For one piece. */
  readonly ms: number;
  readonly tooMany: () => Error;
  readonly tooLong: () => Error;
  readonly tooLarge: () => Error;
}

/** What the thread is sent (`worker.ts`). */
export interface YamlTask {
  readonly task: 'read' | 'write';
  readonly bytes: Uint8Array;
}

interface Waiting<Result> {
  readonly org: string;
  readonly bytes: Uint8Array;
  settle(result: Result): void;
  fail(error: Error): void;
}

export function openYamlThread<Result>(options: YamlThreadOptions): YamlThread<Result> {
  const { task, ms, tooMany, tooLong, tooLarge } = options;
  const turns = new OrgRoundRobin<Waiting<Result>>(1, false);
  const waiting = new Map<string, number>();
  let closed = false;
  let thread: Worker | undefined;
  let inHand: Waiting<Result> | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Done with the piece in hand; `worker` is kept for the next one when it is still good. */
  function next(finish: (done: Waiting<Result>) => void): void {
    clearTimeout(timer);
    const done = inHand;
    inHand = undefined;
    if (done !== undefined) {
      turns.release(done);
      finish(done);
    }
    start();
  }

  /** Ends a thread that is no good any more. What it says from now on concerns nobody. */
  function drop(worker: Worker, error: Error): void {
    if (thread !== worker) return;
    thread = undefined;
    void worker.terminate();
    next((done) => done.fail(error));
  }

  function openThread(): Worker {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.unref();
    worker.on('message', (result: Result) => {
      if (thread === worker) next((done) => done.settle(result));
    });
    worker.on('error', () => drop(worker, tooLarge()));
    worker.on('exit', () =>
      drop(worker, refuse('Unavailable', `the thread for YAML has ended`, { retryAfterSeconds: 1 })),
    );
    return worker;
  }

  function start(): void {
    if (inHand !== undefined) return;
    inHand = turns.take();
    if (inHand === undefined) return;
    const { org, bytes } = inHand;
    const left = (waiting.get(org) ?? 1) - 1;
    if (left > 0) waiting.set(org, left);
    else waiting.delete(org);
    if (closed) {
      next((done) => done.fail(shuttingDown()));
      return;
    }
    const worker = (thread ??= openThread());
    timer = setTimeout(() => drop(worker, tooLong()), ms);
    timer.unref();
    // A copy, since the buffer behind the bytes may hold others, too.
    const piece: YamlTask = { task, bytes: new Uint8Array(bytes) };
    worker.postMessage(piece, [piece.bytes.buffer as ArrayBuffer]);
  }

  return {
    async run(org, bytes) {
      const before = waiting.get(org) ?? 0;
      if (before >= MOST_WAITING) throw tooMany();
      waiting.set(org, before + 1);
      return new Promise((settle, fail) => {
        turns.add({ org, bytes, settle, fail });
        start();
      });
    },
    close() {
      closed = true;
      if (thread !== undefined) drop(thread, shuttingDown());
    },
  };
}

function shuttingDown(): Error {
  return refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 1 });
}
