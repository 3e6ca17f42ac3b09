/**
 * The one way to say no. A refusal is data: a registered code, a message, causes. The edge turns it into a
 * Kubernetes `Status` body (spec, "Errors"); the code table gives the HTTP status, the fix and the docs page.
 */
import type { ErrorCode } from './errors/codes.js';

/** One thing that is wrong, with the path of the field. */
export interface Cause {
  /** `spec.env[3].name`; the empty string when no field is to blame. */
  readonly field: string;
  readonly message: string;
  /** A registered code or a Kubernetes cause reason (`FieldValueInvalid`, `FieldValueRequired`, …). */
  readonly reason: string;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly causes?: readonly Cause[] | undefined;
  /** The next step for the caller; absent: the code's own. */
  readonly fix?: string | undefined;
  /** Absent: the code's own. `Never`: a client that tries again by itself may do harm. */
  readonly retryAfterSeconds?: number | 'Never' | undefined;
  /** What was being done to what. */
  readonly target?:
    | { readonly group?: string; readonly kind?: string; readonly name?: string; readonly uid?: string }
    | undefined;
  /** The epoch that the target is at, for one who meant another. */
  readonly epoch?: number | undefined;
}

/** Thrown only up to the nearest funnel (HTTP edge, effect runner); machines and commits return refusals instead. */
export class RefusalError extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(`${refusal.code}: ${refusal.message}`);
    this.name = 'RefusalError';
    this.refusal = refusal;
  }
}

export function refuse(code: ErrorCode, message: string, more: Omit<Refusal, 'code' | 'message'> = {}): RefusalError {
  return new RefusalError({ code, message, ...more });
}
