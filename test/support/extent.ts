/**
 * How much of what could be tried without end a run tries: `npm test` a little of it, and with `TEST_EXTENT=whole`, as `.ci/run` sets it,
 * all that a change has to pass. What goes on for hours has variables of its own (`npm run test:crash`).
 */
export const WHOLE = process.env['TEST_EXTENT'] === 'whole';

/** The number in this variable, when it is set; else as many as the extent of the run asks for. */
export function amount(variable: string, few: number, whole: number): number {
  return Number(process.env[variable] ?? (WHOLE ? whole : few));
}

/** Fewer than these find nothing. */
const FEWEST_RUNS = 25;

/** How many cases a property is tried with, of those that are tried in the whole extent. */
export function tries(whole: number): number {
  return WHOLE ? whole : Math.max(Math.ceil(whole / 4), Math.min(whole, FEWEST_RUNS));
}
