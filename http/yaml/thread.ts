/** A thread that does work with YAML beside the event loop (`../work-thread.ts`). */
import { Worker } from 'node:worker_threads';
import { openWorkThread, type WorkThread } from '../work-thread.js';

const MOST_WAITING = 32;
const WAIT_MS = 60_000;
const IDLE_MS = 60_000;
const MEMORY_MB = 256;

export type YamlThread<Result> = WorkThread<Uint8Array, Result>;

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

export function openYamlThread<Result>(options: YamlThreadOptions): YamlThread<Result> {
  const { task, ms, tooMany, tooLong, tooLarge } = options;
  return openWorkThread<Uint8Array, Result>({
    open: () =>
      new Worker(new URL('./worker.js', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } }),
    send(bytes) {
      // A copy, since the buffer behind the bytes may hold others, too.
      const piece: YamlTask = { task, bytes: new Uint8Array(bytes) };
      return [piece, [piece.bytes.buffer as ArrayBuffer]];
    },
    ...{ ms, mostWaiting: MOST_WAITING, waitMs: WAIT_MS, idleMs: IDLE_MS },
    ...{ tooMany, tooLong, failed: tooLarge },
  });
}
