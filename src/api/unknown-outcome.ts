/**
 * The refusal for a write whose outcome is not known: it was carried out or it was not. A client that simply sends it again may
 * do it twice, so no Retry-After goes with it; the fix says how to find out. The cause's reason tells it from a 503 that wrote
 * nothing.
 */
import type { Refusal } from './refusal.js';

export const OUTCOME_UNKNOWN = 'OutcomeUnknown';

export function unknownOutcome(why: string, target?: Refusal['target']): Refusal {
  const message = `${why}; it is not known whether the write was carried out`;
  return {
    code: 'Unavailable',
    message,
    causes: [{ field: '', message, reason: OUTCOME_UNKNOWN }],
    fix:
      'Send the same request again if it carried an Idempotency-Key: it is carried out at most once. ' +
      'Otherwise read the object and compare it with what you sent before you send it again.',
    retryAfterSeconds: 'Never',
    target,
  };
}
