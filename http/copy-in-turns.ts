/** Puts bytes together. Many of them are copied in parts, between which the event loop is left to others: 32 MiB at once hold it for 20 ms. */
import { setImmediate as turnOfLoop } from 'node:timers/promises';

/** Bytes that are copied in one turn of the event loop: about a millisecond. */
const PART = 2 * 2 ** 20;

/** At once when they are few. The bytes of a promise have a buffer to themselves. */
export function copyTogether(pieces: readonly Uint8Array[], size: number): Buffer | Promise<Buffer> {
  return size <= PART ? Buffer.concat(pieces, size) : copyInTurns(pieces, size);
}

async function copyInTurns(pieces: readonly Uint8Array[], size: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let inTurn = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, from + PART - inTurn);
      whole.set(part, at);
      from += part.length;
      at += part.length;
      inTurn += part.length;
      if (inTurn < PART) continue;
      inTurn = 0;
      await turnOfLoop();
    }
  }
  return whole;
}
