/** The thread for large bodies and answers: one in, what became of it out. `large-bodies.ts` starts it, bounds it and ends it. */
import { randomUUID } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { readLargeAnswer, type AnswerTask } from './read-large-answer.js';
import { readLarge, type LargeTask } from './read-large.js';

parentPort?.on('message', (task: LargeTask | AnswerTask) => {
  const answer = 'answerTo' in task ? readLargeAnswer(task) : readLarge(task, randomUUID());
  const bytes = answer.outcome === 'Request' ? answer.written : answer.outcome === 'Answer' ? answer.bytes : undefined;
  const transferred = bytes === undefined ? [] : [bytes.buffer];
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(answer, transferred);
});
