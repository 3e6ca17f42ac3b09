/** What an answer of an upstream means for the request and for its route. Pure. */
import type { UpstreamError } from './dialects/dialect.js';
import type { RouteOutcome } from './health.js';
import { retryAfterMs } from './retry-after.js';

export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether the body of a refusal changes what it means, or is told to the client. */
export function needsBody(status: number): boolean {
  return isRefusal(status) || isMoney(status) || status === 429;
}

/** The upstream has judged the request, not itself: another one would too. */
function isRefusal(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

const isMoney = (status: number): boolean => status === 401 || status === 402 || status === 403;

/**
 * The status with which an upstream has judged the request itself; undefined: it has said something about itself. Some say with 403 that a
 * content is not allowed, and with 429 that one request is larger than all that they give in a minute.
 */
export function refusalStatus(status: number, error: UpstreamError | undefined): number | undefined {
  if (isRefusal(status)) return status;
  if (status === 403 && error?.isOfContent === true) return 400;
  if (status === 429 && error?.message.startsWith('Request too large') === true) return 413;
  return undefined;
}

/** Of an answer that is no 2xx. `error`: what its body says, where `needsBody`. */
export function outcomeOf(
  { status, headers }: AnswerHead,
  error: UpstreamError | undefined,
  now: number,
): RouteOutcome {
  if (saysNoCredit(error)) return { is: 'KeyRefused' };
  if (refusalStatus(status, error) !== undefined) return { is: 'Refused' };
  if (isMoney(status)) return { is: 'KeyRefused' };
  if (status === 429) return { is: 'Limited', retryAfterMs: retryAfterMs(headers['retry-after'], now) };
  if (status >= 500 || status === 408 || status < 400) return { is: 'Failed', cause: 'Failing' };
  return { is: 'Refused' };
}

/**
 * Vendors say with 429 and with 400 too that the operator's money is used up. Only the beginning of a message counts: it may quote the
 * client further on, who must not be able to cool a route.
 */
function saysNoCredit(error: UpstreamError | undefined): boolean {
  if (error === undefined) return false;
  return (
    error.code === 'insufficient_quota' ||
    error.type === 'insufficient_quota' ||
    error.type === 'billing_error' ||
    error.message.startsWith('Your credit balance is too low')
  );
}
