/** The thread for large bodies: one in, what became of it out. `large-bodies.ts` starts it, bounds it and ends it. */
import { randomUUID } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { readLarge, type LargeTask } from './read-large.js';

parentPort?.on('message', (task: LargeTask) => {
  const answer = readLarge(task, randomUUID());
  const transferred = answer.outcome === 'Request' ? [answer.written.buffer] : [];
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(answer, transferred);
});
