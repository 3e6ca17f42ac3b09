/** Owns turns of tests that would otherwise all run at once, and then wait for the machine instead of for what they look at. */

/** At most so many calls of what is given run at the same time, in the order in which they came. */
export function turns(atOnce: number): <T>(run: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
