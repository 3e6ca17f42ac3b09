/**
 * Turns for the work that hostile peers cause, so that what it holds of the event loop follows a budget and not their haste: what is read
 * from their connections, and what is encrypted for them.
 *
 * All work of this kind in a process shares one budget: TURN_MS of it, then a rest of REST times as long. Groups (addresses, orgs, hosts,
 * boxes) take turns for slices, and so do the members of a group. A slice is the smaller the more the last one cost.
 *
 * I10: each taker waits once, however often it asks.
 */

/** Bytes. */
const SMALLEST = 4 * 1024;
const LARGEST = 16 * 1024;
/** A slice that took less is followed by a larger one, one that took more by a smaller one (ms). */
const CHEAP_MS = 0.1;
const DEAR_MS = 0.5;
const TURN_MS = 1;
const REST = 2;

export interface TurnTaker {
  readonly group: string;
  /** One slice, whose work is done when it returns. */
  passSlice(): void;
}

/** Those that wait, by group, in the order of their turns. */
const waiting = new Map<string, Set<TurnTaker>>();
let going = false;

/** `passSlice` is called once, in a later turn of the event loop. */
export function waitForTurn(taker: TurnTaker): void {
  const others = waiting.get(taker.group);
  if (others === undefined) waiting.set(taker.group, new Set([taker]));
  else others.add(taker);
  if (going) return;
  going = true;
  setImmediate(pass);
}

/** It waits no more. */
export function leaveTurn(taker: TurnTaker): void {
  const others = waiting.get(taker.group);
  if (others?.delete(taker) === true && others.size === 0) waiting.delete(taker.group);
}

function takeNext(): TurnTaker | undefined {
  for (const [group, takers] of waiting) {
    waiting.delete(group);
    for (const taker of takers) {
      takers.delete(taker);
      if (takers.size > 0) waiting.set(group, takers);
      return taker;
    }
  }
  return undefined;
}

/** Passes slices for TURN_MS, and goes on after the rest. */
function pass(): void {
  const began = performance.now();
  let held = 0;
  for (let next = takeNext(); next !== undefined; next = held < TURN_MS ? takeNext() : undefined) {
    next.passSlice();
    held = performance.now() - began;
  }
  if (held < TURN_MS) going = false;
  // On a busy machine the rest may be over at once: the loop is left to others all the same.
  else setTimeout(() => setImmediate(pass), held * REST);
}

/** How much of one connection goes in a slice. */
export class SliceSize {
  bytes = SMALLEST;

  /** Does the work of one slice, and fits the size of the next to what it cost. */
  measure(work: () => void): void {
    const began = performance.now();
    work();
    const took = performance.now() - began;
    if (took > DEAR_MS) this.bytes = Math.max(SMALLEST, this.bytes / 2);
    else if (took < CHEAP_MS) this.bytes = Math.min(LARGEST, this.bytes * 2);
  }
}
