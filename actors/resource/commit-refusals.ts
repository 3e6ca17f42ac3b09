/** What a commit's answer means for the client: one switch from outcomes to refusals. */
import type { Refusal } from '../../src/api/refusal.js';
import { unknownOutcome } from '../../src/api/unknown-outcome.js';
import { MAX_COST_REACHED } from '../../src/kinds/attempts/holds.js';
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
      return holdRefused(result, target);
    case 'DuplicateKey':
      return { code: 'InternalError', message: `the ledger has an entry under ${result.key} already`, target };
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

type HoldRefused = Extract<CommitResult, { outcome: 'HoldRefused' }>;

function holdRefused({ by, name, availableUSD, neededUSD }: HoldRefused, target: Refusal['target']): Refusal {
  const short = `has ${availableUSD} USD left, and ${neededUSD} USD are needed`;
  switch (by) {
    case 'Budget':
      return { code: 'BudgetExceeded', message: `Budget "${name ?? ''}" ${short}`, target };
    case 'Cap':
      return {
        code: 'BudgetExceeded',
        message: `the maxCostUSD of this object or of one above it ${short}`,
        causes: [{ field: 'spec.maxCostUSD', message: short, reason: MAX_COST_REACHED }],
        target,
      };
    case 'Wallet':
      return { code: 'InsufficientCredits', message: `the wallet ${short}`, target };
  }
}

export function notFound(address: Address): Refusal {
  return {
    code: 'NotFound',
    message: `${address.kind} "${address.name}" not found`,
    target: { kind: address.kind, name: address.name },
  };
}
