/** Bounds how many tests do something costly at once: all together they would wait for the machine instead of for what they look at. */
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
