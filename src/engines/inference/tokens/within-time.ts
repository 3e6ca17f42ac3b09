/**
 * Bounds what tokenizing takes of the event loop: BUDGET_MS of each second, whoever asks. A text that comes when that is used up counts a
 * token for each byte, which no text exceeds: a request is then held for somewhat more, and waits for nothing.
 */
import type { CountTokens } from '../router.js';

const BUDGET_MS = 100;
const SECOND_MS = 1_000;

/** `now`: monotonic ms. */
export function withinTime(count: CountTokens, now: () => number = () => performance.now()): CountTokens {
  let second = -Infinity;
  let used = 0;
  return (text) => {
    const begun = now();
    if (begun - second >= SECOND_MS) [second, used] = [begun, 0];
    if (used >= BUDGET_MS) return Buffer.byteLength(text);
    const tokens = count(text);
    used += now() - begun;
    return tokens;
  };
}
