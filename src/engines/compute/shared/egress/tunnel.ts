/**
 * Joins two connections until both have ended: a side may still answer after the other has ended, and a side that does not read
 * stops the other's sender. What was read of one goes to the other in the turn of its box (`slice-turns.ts`), and only then the next is
 * read: so many tunnels of one box, or bytes that come one by one, leave the loop to other boxes.
 *
 * Bound (I10): of each side one read (64 KiB), beside the streams' own buffers. Silence on the outer one for `idleMs` ends both.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { leaveTurn, waitForTurn, type TurnTaker } from '../../../slice-turns.js';

export function join(
  inner: Duplex,
  outer: Socket,
  { box, idleMs }: { readonly box: string; readonly idleMs: number },
): void {
  carry(inner, outer, box);
  carry(outer, inner, box);
  endTogether(inner, outer);
  endTogether(outer, inner);
  outer.setTimeout(idleMs, () => {
    inner.destroy();
    outer.destroy();
  });
}

/** All that is read from one goes to the other, its end as well. */
function carry(from: Duplex, to: Duplex, group: string): void {
  let unsent: Buffer | undefined;
  const goOn = (): void => void from.resume();
  const taker: TurnTaker = {
    group,
    passSlice() {
      if (unsent !== undefined) {
        const goesOn = to.write(unsent);
        unsent = undefined;
        if (goesOn) goOn();
        else to.once('drain', goOn);
      }
      if (from.readableEnded) to.end();
    },
  };
  const wait = (): void => waitForTurn(taker);
  from.on('data', (chunk: Buffer) => {
    from.pause();
    unsent = chunk;
    wait();
  });
  if (from.readableEnded) wait();
  else from.once('end', wait);
  to.once('close', () => {
    leaveTurn(taker);
    unsent = undefined;
  });
  goOn();
}

/** One that was cut cuts the other; one that has ended in order leaves it the time to send what it has. */
function endTogether(one: Duplex, other: Duplex): void {
  one.once('close', () => {
    if (!one.readableEnded || other.writableFinished) other.destroy();
    else other.once('finish', () => other.destroy());
  });
}
