/** Owns turns of tests that would otherwise all run at once, and then wait for the machine instead of for what they look at. */
import { Semaphore } from '../../src/runner/work/semaphore.js';

/** At most so many calls of what is given run at the same time, in the order in which they came. */
export function turns(atOnce: number): <T>(run: () => Promise<T>) => Promise<T> {
  const all = new Semaphore(atOnce);
  return async (run) => {
    const over = await all.take();
    try {
      return await run();
    } finally {
      over();
    }
  };
}
