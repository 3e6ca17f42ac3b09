/**
 * Turns in an org: work that must not overlap for the same org runs one after another, in the order of its coming.
 * I10: at most MOST_WAITING wait for one org; one more is refused with Unavailable.
 */
import { refuse } from '../src/api/refusal.js';

const MOST_WAITING = 256;

export type OrgTurns = <Result>(org: string, work: () => Promise<Result>) => Promise<Result>;

export function openOrgTurns(): OrgTurns {
  const queues = new Map<string, { waiting: number; last: Promise<unknown> }>();
  return async (org, work) => {
    const queue = queues.get(org) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting >= MOST_WAITING) {
      throw refuse('Unavailable', 'too many changes of members and keys wait in this org', { retryAfterSeconds: 1 });
    }
    queue.waiting += 1;
    queues.set(org, queue);
    const mine = queue.last.then(work);
    queue.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(org);
    }
  };
}
