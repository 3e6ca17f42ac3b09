/** How long work waits before it is tried again: 1 s, doubling to 1 m. Source: decisions, "Small points". */

const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/** From the first failure on. */
export function failureDelay(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
}

/** The first replacement of lost capacity starts at once; when capacity goes on failing, later ones wait like failures do. */
export function replacementDelay(lost: number): number {
  return lost <= 1 ? 0 : failureDelay(lost - 1);
}
