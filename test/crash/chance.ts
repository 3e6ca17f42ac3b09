/** Repeatable chance for tests: the same seed, the same choices. (mulberry32) */

export interface Chance {
  /** From 0 up to but not including `below`. */
  below(below: number): number;
  /** True with this probability. */
  is(probability: number): boolean;
}

export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (below) => Math.floor(next() * below), is: (probability) => next() < probability };
}
