/**
 * Writes a long answer of JSON that is made piece by piece: each in a slice of the event loop in which orgs take turns, when the client has
 * taken the one before.
 *
 * I10: the answer has a place (`answer-places.ts`) until its client has all of it, and one piece waits. A client that takes none of it for
 * `Exchange.stallMs`, or for less while others of its org wait for a place, is cut.
 */
import { freeWithAnswer, type AnswerPlace } from './answer-places.js';
import type { Exchange } from './exchange.js';
import { LongAnswer } from './long-answer.js';
import { JSON_TYPE } from './reply.js';

export interface LongJson {
  readonly place: AnswerPlace;
  /** Each is made when it is asked for; what making one throws ends the answer. */
  readonly pieces: Iterator<string>;
  nextSlice(): Promise<void>;
}

/** The place is the answer's from now on. */
export async function sendLongJson(x: Exchange, { place, pieces, nextSlice }: LongJson): Promise<void> {
  const answer = new LongAnswer(x, { 'content-type': JSON_TYPE }, 'WhenLong');
  try {
    for (;;) {
      await nextSlice();
      if (answer.closed) return;
      const piece = pieces.next();
      if (piece.done === true) return await answer.end('');
      await place.untilTaken(answer.write(piece.value), () => x.res.destroy());
    }
  } catch (error) {
    answer.abandon();
    throw error;
  } finally {
    freeWithAnswer(place, x.res);
  }
}
