/**
 * Reads YAML bodies without holding the event loop: a kilobyte of YAML costs up to 3 ms, a hundred times as much as one of
 * JSON. Small ones are read at once, larger ones in a thread that is started when the first one comes.
 *
 * I10: the thread has one body in hand, for at most READ_MS and within its own memory; a body that needs more is refused,
 * and the thread is replaced. At most MOST_WAITING bodies wait (each as large as a YAML body may be); one more is refused
 * with Unavailable. The thread keeps no process alive.
 */
import { Worker } from 'node:worker_threads';
import { parseBody } from '../../src/api/json.js';
import { refuse } from '../../src/api/refusal.js';
import { MAX_YAML_BYTES } from '../../src/api/yaml.js';

/** Up to so many bytes are read at once: some 20 ms at worst. */
const READ_AT_ONCE = 8 * 1024;
const MOST_WAITING = 32;
const READ_MS = 30_000;
const MEMORY_MB = 256;

type ParsedYaml = ReturnType<typeof parseBody>;

export interface YamlReader {
  read(bytes: Buffer): Promise<ParsedYaml>;
  close(): void;
}

interface Waiting {
  readonly bytes: Buffer;
  settle(result: ParsedYaml): void;
  fail(error: Error): void;
}

export function openYamlReader(readMs = READ_MS): YamlReader {
  const waiting: Waiting[] = [];
  let thread: Worker | undefined;
  let inHand: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Done with the body in hand; `worker` is kept for the next one when it is still good. */
  function next(finish: (done: Waiting) => void): void {
    clearTimeout(timer);
    const done = inHand;
    inHand = undefined;
    if (done !== undefined) finish(done);
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
    worker.on('message', (result: ParsedYaml) => {
      if (thread === worker) next((done) => done.settle(result));
    });
    worker.on('error', () => drop(worker, refuse('RequestEntityTooLarge', 'the YAML body needs too much memory')));
    worker.on('exit', () => drop(worker, refuse('Unavailable', 'the YAML reader has ended', { retryAfterSeconds: 1 })));
    return worker;
  }

  function start(): void {
    if (inHand !== undefined) return;
    inHand = waiting.shift();
    if (inHand === undefined) return;
    const worker = (thread ??= openThread());
    timer = setTimeout(() => drop(worker, refuse('BadRequest', 'the YAML body takes too long to read')), readMs);
    timer.unref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(inHand.bytes);
  }

  return {
    async read(bytes) {
      // Too large is told without being read, so that costs nothing here either.
      if (bytes.length <= READ_AT_ONCE || bytes.length > MAX_YAML_BYTES) return parseBody(bytes, 'yaml');
      if (waiting.length >= MOST_WAITING) {
        throw refuse('Unavailable', 'too many large YAML bodies at once', {
          fix: 'Try again, or send JSON.',
          retryAfterSeconds: 1,
        });
      }
      return new Promise((settle, fail) => {
        waiting.push({ bytes, settle, fail });
        start();
      });
    },
    close() {
      const ended = refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 1 });
      for (const one of waiting.splice(0)) one.fail(ended);
      if (thread !== undefined) drop(thread, ended);
    },
  };
}
