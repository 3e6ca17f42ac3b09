/**
 * Puts later attempts into the queue, which holds a pointer per attempt and wakes the sender at its time. Nothing
 * depends on it: an attempt that is not there, or that the queue forgets, is found by the sender's sweep when it is overdue.
 *
 * I10: so many wait to be put in; what is beyond is left to the sweep.
 */
import type { Queue } from '../../storage/queues/queue.js';

const MOST_WAITING = 5_000;
const AT_ONCE = 500;
/** Attempts that fail together are put in together (ms). */
const GROUP_MS = 20;

export interface RetryQueue {
  /** `due` in ms on the clock of `now`. */
  add(attempt: { readonly id: string; readonly number: number; readonly endpoint: string; readonly due: number }): void;
  close(): void;
}

export function openRetryQueue(
  queue: Pick<Queue, 'add'>,
  now: () => number,
  onProblem: (message: string) => void,
): RetryQueue {
  let waiting: Parameters<RetryQueue['add']>[0][] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function flush(): Promise<void> {
    try {
      while (waiting.length > 0 && !closed) {
        const group = waiting.slice(0, AT_ONCE);
        waiting = waiting.slice(AT_ONCE);
        // The number is part of the id: a queue drops an id that it still has.
        await queue.add(
          group.map(({ id, number, endpoint, due }) => ({
            ...{ id: `${id}.${number}`, delayMs: due - now(), pointer: endpoint },
          })),
        );
      }
    } catch (error) {
      waiting = [];
      if (!closed) onProblem(`webhooks: ${error instanceof Error ? error.message : 'the queue is away'}`);
    } finally {
      timer = undefined;
    }
  }

  return {
    add(attempt) {
      if (closed || waiting.length >= MOST_WAITING) return;
      waiting.push(attempt);
      timer ??= setTimeout(() => void flush(), GROUP_MS);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
