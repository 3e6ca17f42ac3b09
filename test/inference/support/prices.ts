/** What requests to the Models of the tests hold and cost (`catalog.ts` has the prices). */
import { USD } from '../../../src/money/usd.js';

export const ONE = 1_000_000;

/** What a request holds: each byte of its body is at most a token, at 1 USD a million, and 2 for those that come out. */
export function holdOf(body: object, output: number): USD {
  return new USD(Buffer.byteLength(JSON.stringify(body)) + 2 * output).dividedBy(ONE, 'Up');
}

export function priceOf(input: number, output: number): USD {
  return new USD(input + 2 * output).dividedBy(ONE, 'HalfUp');
}
