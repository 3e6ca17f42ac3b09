/**
 * The arguments of calls within a request: text, which is JSON by itself and is parsed for an upstream of another dialect. So what bounds a body
 * bounds it as well.
 */
import { isObject } from '../../../api/safe-value.js';
import { DEEPEST, isGiven, MOST_PIECES } from './body.js';
import { CannotCarry } from './conversation.js';
import { parsed, writeExact } from './exact-json.js';

/** Levels of a body around the arguments of a call, and some to spare. */
const AROUND_ARGUMENTS = 8;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Of all calls of one request (I10: MOST_PIECES together, each DEEPEST levels). */
export class CallArguments {
  #pieces = 0;

  /** As text. That of a call that was cut off is no JSON and stays. Throws a CannotCarry for what is no object. */
  read(given: unknown, at: string): string {
    if (!isGiven(given)) return '{}';
    if (isObject(given)) return writeExact(given);
    if (typeof given !== 'string') throw new CannotCarry(at, 'must be the text of a JSON object');
    if (given.trim() === '') return '{}';
    const { deepest, pieces } = measure(given);
    if (deepest > DEEPEST) throw new CannotCarry(at, `must not nest deeper than ${DEEPEST} levels`);
    this.#pieces += pieces;
    if (this.#pieces > MOST_PIECES)
      throw new CannotCarry(
        at,
        `must be smaller: all calls may have at most ${MOST_PIECES} objects, lists and strings`,
      );
    const value = parsed(given);
    if (value !== undefined && !isObject(value)) throw new CannotCarry(at, 'must be the text of a JSON object');
    return given;
  }
}

/** Of an answer: a message that is made of it, and sent back, must not be deeper than a body may be. */
export function areTooDeep(json: string): boolean {
  return measure(json).deepest > DEEPEST - AROUND_ARGUMENTS;
}

function measure(text: string): { readonly deepest: number; readonly pieces: number } {
  let [depth, deepest, pieces] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      pieces += 1;
      for (at += 1; at < text.length && text.charCodeAt(at) !== QUOTE; at += 1)
        if (text.charCodeAt(at) === BACKSLASH) at += 1;
      continue;
    }
    // `[` and `{` differ in one bit, and so do their ends.
    if ((code | 0x20) === 0x7b) {
      pieces += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if ((code | 0x20) === 0x7d) depth -= 1;
  }
  return { deepest, pieces };
}
