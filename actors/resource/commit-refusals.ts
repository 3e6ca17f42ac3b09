/** What a commit's answer means for the client: one switch from outcomes to refusals. */
import type { Refusal } from '../../src/api/refusal.js';
import { unknownOutcome } from '../../src/api/unknown-outcome.js';
import type { Address } from '../../src/api/address.js';
import type { CommitResult } from '../../storage/commit/request.js';

/** Seconds after which a client should try again while the service catches its breath. */
const RETRY_SECONDS = 1;

/** `Committed` and `KeyUsed` are not refusals and are handled before. */
export function refusalOf(
  result: Exclude<CommitResult, { outcome: 'Committed' } | { outcome: 'KeyUsed' }>,
  address: Address,
): Refusal {
  const target = { kind: address.kind, name: address.name };
  switch (result.outcome) {
    case 'AlreadyExists':
      return { code: 'AlreadyExists', message: `${address.kind} "${address.name}" already exists`, target };
    case 'Stale':
      return {
        code: 'Unavailable',
        message: 'the object changed while it was being written; try again',
        retryAfterSeconds: RETRY_SECONDS,
        target,
      };
    case 'HoldRefused':
      return {
        code: 'BudgetExceeded',
        message: `${result.by} has ${result.availableUSD} USD left, which does not cover this hold`,
        target,
      };
    case 'QuotaExceeded':
      return {
        code: 'QuotaExceeded',
        message: `the organisation already holds ${result.limit} objects, which is its limit`,
        target,
      };
    case 'Fenced':
      return {
        code: 'Unavailable',
        message: 'this process is no longer the active one; nothing was written',
        retryAfterSeconds: RETRY_SECONDS,
        target,
      };
    case 'Unavailable':
      return {
        code: 'Unavailable',
        message: `storage could not be reached: ${result.message}; nothing was written`,
        retryAfterSeconds: RETRY_SECONDS,
        target,
      };
    case 'Unknown':
      return unknownOutcome(`storage did not answer: ${result.message}`, target);
  }
}

export function notFound(address: Address): Refusal {
  return {
    code: 'NotFound',
    message: `${address.kind} "${address.name}" not found`,
    target: { kind: address.kind, name: address.name },
  };
}
