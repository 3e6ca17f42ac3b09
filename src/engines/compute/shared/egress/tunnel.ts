/**
 * Joins two connections until both have ended: a side may still answer after the other has ended, and a side that does not read
 * stops the other's sender. Bound (I10): the streams' own buffers. Silence on the outer one for `idleMs` ends both.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export function join(inner: Duplex, outer: Socket, idleMs: number): void {
  inner.pipe(outer);
  outer.pipe(inner);
  endTogether(inner, outer);
  endTogether(outer, inner);
  outer.setTimeout(idleMs, () => {
    inner.destroy();
    outer.destroy();
  });
}

/** One that was cut cuts the other; one that has ended in order leaves it the time to send what it has. */
function endTogether(one: Duplex, other: Duplex): void {
  one.once('close', () => {
    if (!one.readableEnded || other.writableFinished) other.destroy();
    else other.once('finish', () => other.destroy());
  });
}
