/**
 * Keeps what an actor knows of its object's timers: the generation of each arming. A firing names its generation; that of an
 * earlier arming (its job was on its way when the timer was moved or cancelled), or of one that was dealt with, means nothing.
 * The rows are read with the first firing after a load; from then on each commit says what it has changed. Pure.
 */
import type { TimerWrite } from '../../storage/commit/request.js';

/** By name of the timer. */
export type Generations = ReadonlyMap<string, number>;

/** What is armed after a commit with these writes; `before` undefined: not known, and so it stays. */
export function timersAfter(before: Generations | undefined, writes: readonly TimerWrite[]): Generations | undefined {
  if (before === undefined || writes.length === 0) return before;
  const after = new Map(before);
  for (const { op, timer, generation } of writes) {
    if (op === 'arm') after.set(timer, generation);
    else if ((after.get(timer) ?? 0) <= generation) after.delete(timer);
  }
  return after;
}
