/** The answer of a server that serves nothing now: a standby, or one that has not taken over yet. */
import { refuse, type RefusalError } from '../src/api/refusal.js';

/** `missing`: what it waits for, as `/readyz` tells it. */
export function notActive(missing: readonly string[]): RefusalError {
  const why = missing.length === 0 ? '' : ` (${missing.join(', ')})`;
  return refuse('Unavailable', `this server is not active${why}`, {
    retryAfterSeconds: 1,
    fix: 'Try again in a second; if the error persists, use the address of the active server.',
  });
}
