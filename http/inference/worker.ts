/** The thread for large bodies and answers: one in, what became of it out. `large-bodies.ts` starts it, bounds it and ends it. */
import { randomUUID } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { readLargeAnswer, type AnswerTask } from './read-large-answer.js';
import { readLarge, translateLarge, type LargeTask, type TranslateTask } from './read-large.js';

function answerTo(task: LargeTask | AnswerTask | TranslateTask) {
  if ('answerTo' in task) return readLargeAnswer(task);
  return 'translate' in task ? translateLarge(task, randomUUID()) : readLarge(task, randomUUID());
}

parentPort?.on('message', (task: LargeTask | AnswerTask | TranslateTask) => {
  const answer = answerTo(task);
  const bytes = 'written' in answer ? answer.written : 'bytes' in answer ? answer.bytes : undefined;
  const transferred = bytes === undefined ? [] : [bytes.buffer];
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(answer, transferred);
});
