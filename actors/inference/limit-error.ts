/** A request that the limits of its InferenceEndpoint refuse: a refusal that says how much is left, for the headers of its answer. */
import { RefusalError } from '../../src/api/refusal.js';
import type { LimitState } from '../../src/engines/inference/dialects/dialect.js';
import type { EndpointLimits, LimitDecision } from './limits.js';

const WHAT = {
  maxConcurrent: 'requests at once',
  rpm: 'requests a minute',
  tpm: 'tokens a minute',
} as const;

export class LimitError extends RefusalError {
  readonly state: LimitState;

  constructor(
    { by, state, retryAfterSeconds }: Extract<LimitDecision, { outcome: 'Refused' }>,
    limits: EndpointLimits | undefined,
  ) {
    super({
      code: 'TooManyRequests',
      message: `the InferenceEndpoint takes ${limits?.[by] ?? 'no more'} ${WHAT[by]} (spec.limits.${by})`,
      fix: `Try again when Retry-After is over, send less, or have spec.limits.${by} raised.`,
      retryAfterSeconds,
    });
    this.name = 'LimitError';
    this.state = state;
  }
}
