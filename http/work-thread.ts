/**
 * A thread that does long work beside the event loop, one piece at a time; orgs take turns. It is started when the first piece comes, keeps
 * no process alive, and ends when it has had nothing to do for a while, since only its end gives all of its memory back.
 *
 * I10: the thread has one piece in hand, for a bounded time and within its own memory; a piece that needs more is refused, and the thread is
 * replaced. At most `mostWaiting` pieces of one org wait, each for a bounded time; one more is refused. A piece that nobody wants any more
 * leaves the line; one that is in hand is finished, and its result thrown away.
 */
import type { Transferable, Worker } from 'node:worker_threads';
import { OrgRoundRobin } from '../actors/effects/org-round-robin.js';
import { refuse } from '../src/api/refusal.js';

export interface WorkThread<Piece, Result> {
  /** Rejects with a refusal of the options, or with the signal's reason. The bytes that `send` transfers are gone from when it begins. */
  run(org: string, piece: Piece, signal?: AbortSignal): Promise<Result>;
  close(): void;
}

export interface WorkThreadOptions<Piece> {
  /** With its limits of memory. */
  open(): Worker;
  /** What the thread is sent, made when its turn has come. */
  send(piece: Piece): readonly [message: unknown, transferred: readonly Transferable[]];
  /** For one piece in hand (ms). */
  readonly ms: number;
  readonly mostWaiting: number;
  /** In the line (ms). */
  readonly waitMs: number;
  /** Without work, until it ends. */
  readonly idleMs: number;
  tooMany(): Error;
  tooLong(): Error;
  /** Of a thread that has ended by an error, which is one of memory as a rule. */
  failed(error: Error): Error;
}

interface Waiting<Piece, Result> {
  readonly org: string;
  readonly piece: Piece;
  /** It is in the line no longer. */
  leave(): void;
  settle(result: Result): void;
  fail(error: Error): void;
}

export function openWorkThread<Piece, Result>(options: WorkThreadOptions<Piece>): WorkThread<Piece, Result> {
  const turns = new OrgRoundRobin<Waiting<Piece, Result>>(1, false);
  const waiting = new Map<string, number>();
  let closed = false;
  let thread: Worker | undefined;
  let inHand: Waiting<Piece, Result> | undefined;
  /** Of the piece in hand, or of a thread without one. */
  let timer: NodeJS.Timeout | undefined;

  function count(org: string, by: 1 | -1): void {
    const now = (waiting.get(org) ?? 0) + by;
    if (now > 0) waiting.set(org, now);
    else waiting.delete(org);
  }

  /** Done with the piece in hand. */
  function next(finish: (done: Waiting<Piece, Result>) => void): void {
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
    const worker = options.open();
    worker.unref();
    worker.on('message', (result: Result) => {
      if (thread === worker) next((done) => done.settle(result));
    });
    worker.on('error', (error) => drop(worker, options.failed(error)));
    worker.on('exit', () => drop(worker, hasEnded()));
    return worker;
  }

  function start(): void {
    if (inHand !== undefined) return;
    inHand = turns.take();
    if (inHand === undefined) {
      const idle = thread;
      if (idle === undefined) return;
      timer = setTimeout(() => drop(idle, hasEnded()), options.idleMs);
      timer.unref();
      return;
    }
    inHand.leave();
    if (closed) {
      next((done) => done.fail(shuttingDown()));
      return;
    }
    clearTimeout(timer);
    const worker = (thread ??= openThread());
    timer = setTimeout(() => drop(worker, options.tooLong()), options.ms);
    timer.unref();
    const [message, transferred] = options.send(inHand.piece);
    worker.postMessage(message, transferred);
  }

  return {
    async run(org, piece, signal) {
      signal?.throwIfAborted();
      if ((waiting.get(org) ?? 0) >= options.mostWaiting) throw options.tooMany();
      return new Promise((settle, fail) => {
        const giveUp = (error: Error): void => {
          turns.delete(one);
          one.leave();
          one.fail(error);
        };
        const abort = (): void => giveUp(signal?.reason as Error);
        const patience = setTimeout(() => giveUp(options.tooMany()), options.waitMs);
        patience.unref();
        let inLine = true;
        const one: Waiting<Piece, Result> = {
          ...{ org, piece },
          leave() {
            clearTimeout(patience);
            if (inLine) count(org, -1);
            inLine = false;
          },
          settle(result) {
            signal?.removeEventListener('abort', abort);
            settle(result);
          },
          fail(error) {
            signal?.removeEventListener('abort', abort);
            fail(error);
          },
        };
        signal?.addEventListener('abort', abort, { once: true });
        count(org, 1);
        turns.add(one);
        start();
      });
    },
    close() {
      closed = true;
      if (thread !== undefined) drop(thread, shuttingDown());
    },
  };
}

function hasEnded(): Error {
  return refuse('Unavailable', 'the thread that did the work has ended', { retryAfterSeconds: 1 });
}

function shuttingDown(): Error {
  return refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 1 });
}
