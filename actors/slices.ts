/**
 * A part of the event loop for work of one sort, which is done in slices of a few milliseconds: together they get SLICES_MS
 * of each turn of the loop. So however much of that work is under way, every other request waits for SLICES_MS and one slice
 * at most. Lists, tables, beginnings of watches and deletions of collections have one such part, the handing over of changes
 * to live watches (`hub/hub.ts`) another.
 *
 * A slice is what its holder does from there to its next wait. Work that is alone gets one slice after the other. Orgs take
 * turns (`effects/org-round-robin.ts`): an org's work waits for one slice of each other org that has some.
 *
 * I10: what waits is one entry for each list, watch and deletion under way, which are bounded as requests and streams are,
 * and one for each org with live watches.
 */
import { OrgRoundRobin } from './effects/org-round-robin.js';

/** After so much of one turn of the loop (ms) the next slice waits for the next turn. */
const SLICES_MS = 3;
/**
 * While more lists than this wait, the loop is left to all others for as long as the slices had it: a list alone, and a few
 * of them, are not held back.
 */
export const CROWD_OF_LISTS = 4;

export interface Slices {
  /** Resolves when the org's next slice begins. */
  next(org: string): Promise<void>;
}

interface Waiting {
  readonly org: string;
  begin(): void;
}

/** `crowd`: when more than so much waits, the slices have half of the time. `now`: milliseconds of a clock that does not go back. */
export function openSlices(crowd: number, now: () => number = () => performance.now()): Slices {
  const turns = new OrgRoundRobin<Waiting>(1, false);
  let waiting = 0;
  /** A turn of the loop is under way or to come in which slices begin. */
  let isGoing = false;

  function begin(): void {
    beginOne(now());
  }

  function beginOne(begun: number): void {
    const one = turns.take();
    if (one === undefined) {
      isGoing = false;
      return;
    }
    waiting -= 1;
    turns.release(one);
    one.begin();
    afterPromises(() => {
      const held = now() - begun;
      if (held < SLICES_MS) beginOne(begun);
      else if (waiting > crowd) setTimeout(begin, held);
      else setImmediate(begin);
    });
  }

  return {
    next: (org) =>
      new Promise((resolve) => {
        turns.add({ org, begin: resolve });
        waiting += 1;
        if (isGoing) return;
        isGoing = true;
        setImmediate(begin);
      }),
  };
}

/** Runs it in this turn of the loop, when all that promises have set off is done: Node then takes up the ticks that came meanwhile. */
function afterPromises(run: () => void): void {
  queueMicrotask(() => process.nextTick(run));
}
