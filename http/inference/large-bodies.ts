/**
 * Bodies that would hold the event loop for long are read and written anew in a thread (`../work-thread.ts`), org by org in turns, and none of what
 * it has parsed is kept: it hands back a summary and the bytes for an upstream (`read-large.ts`). A body is light or not by its length and by
 * the number of its pieces (`pieces.ts`): 64 KiB of text are read and written in half a millisecond, as many bytes of `{}` in 8. Longer bodies cost little
 * each, but nothing on the event loop gives turns to their orgs: 64 senders of 250 KiB would hold it for 90 ms at a time.
 *
 * I10: of one org MOST_WAITING bodies wait, WAIT_MS at most; then 429. One is in hand, for TASK_MS and with MEMORY_MB at most; then it is refused
 * and the thread is replaced. Their bytes are those that `../admission.ts` counts.
 */
import { Worker } from 'node:worker_threads';
import { refuse } from '../../src/api/refusal.js';
import { openWorkThread } from '../work-thread.js';
import { hasFewMembers, hasFewPieces } from './pieces.js';
import type { AnswerTask, LargeAnswer } from './read-large-answer.js';
import type { LargeRequest, LargeTask, LargeTranslation, TranslateTask } from './read-large.js';

/** Up to so many bytes are read at once, whatever they are: 4 ms at worst. */
const SHORT = 32 * 1024;
/** Up to so many, when their pieces are few: half a millisecond for the bytes, and 4 for the pieces at worst. */
const LONG = 64 * 1024;
const FEW_PIECES = 5_000;
const MOST_WAITING = 64;
const WAIT_MS = 30_000;
/** A body takes 2 s at worst, on a machine that is busy. */
const TASK_MS = 30_000;
const IDLE_MS = 10_000;
/** Twice of what the worst body takes. */
const MEMORY_MB = 1_024;

export interface LargeBodies {
  isLarge(bytes: Buffer): boolean;
  /** The bytes are gone afterwards. Rejects with a refusal: TooManyRequests, RequestEntityTooLarge, Unavailable. */
  read(org: string, task: LargeTask, signal: AbortSignal): Promise<LargeRequest>;
  /** A body that was read, for an upstream of another dialect. */
  translate(org: string, task: TranslateTask, signal: AbortSignal): Promise<LargeTranslation>;
  /** The same of an upstream's answer; its bytes come back. */
  readAnswer(org: string, task: AnswerTask, signal: AbortSignal): Promise<LargeAnswer>;
  close(): void;
}

export interface LargeBodiesOptions {
  /** For the operator's log: the thread has ended by an error. */
  note(error: Error): void;
  /** As SHORT and LONG; a test's own. */
  readonly short?: number;
  readonly long?: number;
  readonly idleMs?: number;
  /** Sees each thread that is started; a test's own. */
  readonly started?: (worker: Worker) => void;
}

export function openLargeBodies(options: LargeBodiesOptions): LargeBodies {
  const { note, short = SHORT, long = LONG, idleMs = IDLE_MS, started } = options;
  const thread = openWorkThread<LargeTask | AnswerTask | TranslateTask, LargeRequest | LargeAnswer | LargeTranslation>({
    open() {
      const limits = { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } };
      const worker = new Worker(new URL('./worker.js', import.meta.url), limits);
      started?.(worker);
      return worker;
    },
    send(task) {
      const own = ownBytes(task.bytes);
      return [{ ...task, bytes: own } satisfies LargeTask | AnswerTask | TranslateTask, [own.buffer]];
    },
    ...{ ms: TASK_MS, mostWaiting: MOST_WAITING, waitMs: WAIT_MS, idleMs },
    tooMany: () =>
      refuse('TooManyRequests', 'too many large requests of this org wait to be read', {
        retryAfterSeconds: 1,
        fix: 'Send fewer large bodies at once.',
      }),
    tooLong: () => refuse('Unavailable', 'the body takes too long to be read', { retryAfterSeconds: 1 }),
    failed(error) {
      note(error);
      if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
        return refuse('RequestEntityTooLarge', 'the body needs too much memory to be read');
      return refuse('Unavailable', 'the body could not be read', { retryAfterSeconds: 1 });
    },
  });
  return {
    isLarge: (bytes) =>
      bytes.length > short &&
      (bytes.length > long || !hasFewPieces(bytes, FEW_PIECES) || !hasFewMembers(bytes, FEW_PIECES)),
    async read(org, task, signal) {
      const read = await thread.run(org, task, signal);
      if (read.outcome === 'Request' || read.outcome === 'Refused') return read;
      throw new Error('the thread has read an answer where a request was asked for');
    },
    async translate(org, task, signal) {
      const read = await thread.run(org, task, signal);
      if (read.outcome === 'Translated' || read.outcome === 'CannotCarry') return read;
      throw new Error('the thread has not translated what it was to translate');
    },
    async readAnswer(org, task, signal) {
      const read = await thread.run(org, task, signal);
      if (read.outcome === 'Answer' || read.outcome === 'Unreadable') return read;
      throw new Error('the thread has read a request where an answer was asked for');
    },
    close: thread.close,
  };
}

/** What was put together of many chunks has its buffer to itself and is handed over; the few bytes of one chunk are copied. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength && bytes.byteLength > LONG;
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
