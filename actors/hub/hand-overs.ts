/**
 * Runs long work in short slices: about SLICE_MS of it, then one round of the event loop for everything else. What waits
 * takes turns, PORTION steps each, so that work with thousands of steps delays itself and not its neighbours.
 *
 * Work is an iterator: a step is one `next`, and has to be short.
 */
export interface HandOvers {
  add(work: Iterator<unknown>): void;
}

const SLICE_MS = 5;
/** Steps of one work before the next has its turn. */
const PORTION = 32;

/** `now`: milliseconds of a clock that does not go back. */
export function openHandOvers(now: () => number): HandOvers {
  const turns: Iterator<unknown>[] = [];
  let running = false;

  function slice(): void {
    const until = now() + SLICE_MS;
    do {
      const work = turns.shift();
      if (work === undefined) break;
      if (!portion(work, until)) turns.push(work);
    } while (now() < until);
    running = turns.length > 0;
    if (running) setImmediate(slice);
  }

  /** True: it has come to its end. */
  function portion(work: Iterator<unknown>, until: number): boolean {
    for (let step = 0; step < PORTION; step += 1) {
      if (work.next().done === true) return true;
      if (now() >= until) return false;
    }
    return false;
  }

  return {
    add(work) {
      turns.push(work);
      if (running) return;
      running = true;
      setImmediate(slice);
    },
  };
}
