/** Interface: the limits of InferenceEndpoints: requests at once, requests and tokens a minute. */
import type { LimitState } from '../../src/engines/inference/dialects/dialect.js';

export interface EndpointLimits {
  readonly maxConcurrent: number;
  readonly rpm: number;
  readonly tpm?: number | undefined;
}

export type LimitDecision =
  | {
      readonly outcome: 'Admitted';
      readonly state: LimitState;
      /** The request is over and has used so many tokens; what it took beyond them is there again. Harmless twice. */
      release(tokens: number): void;
    }
  | {
      readonly outcome: 'Refused';
      readonly by: 'maxConcurrent' | 'rpm' | 'tpm';
      readonly state: LimitState;
      /** Until one like it may pass; at most 61. */
      readonly retryAfterSeconds: number;
    };

export interface InferenceLimits {
  /**
   * Takes a place, a request and at most `tokens` tokens (no more than `tpm`), or nothing. A promise when what may be used has to be
   * written down first. Rejects with a `RefusalError` Unavailable when that fails.
   */
  take(
    endpoint: { readonly org: string; readonly uid: string },
    limits: EndpointLimits,
    tokens: number,
  ): LimitDecision | Promise<LimitDecision>;
  /** Writes down what was used, exactly. */
  close(): Promise<void>;
}
