/** What a commit's answer means for the client: one switch from outcomes to refusals. */
import { rfc3339 } from '../../src/api/time.js';
import type { HoldRefusal } from '../../src/money/operation.js';
import type { Refusal } from '../../src/api/refusal.js';
import { unknownOutcome } from '../../src/api/unknown-outcome.js';
import { MAX_COST_REACHED } from '../../src/kinds/attempts/holds.js';
import type { Address } from '../../src/api/address.js';
import type { CommitResult } from '../../storage/commit/request.js';

/** Seconds after which a client should try again while the service catches its breath. */
const RETRY_SECONDS = 1;

/** `Committed` and `KeyUsed` are not refusals and are handled before. `uid`: of the object that was to be written, where one was. */
export function refusalOf(
  result: Exclude<CommitResult, { outcome: 'Committed' } | { outcome: 'KeyUsed' }>,
  address: Address,
  uid?: string,
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
      return refusalOfHold(result, { uid, target });
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

/** What money refuses, as the client sees it. `uid`: of the object that is written. */
export function refusalOfHold(
  { by, uid: limited, name = '', availableUSD, neededUSD, arrearsUSD, disputed, resetTime }: HoldRefusal,
  { uid, target }: { readonly uid: string | undefined; readonly target: Refusal['target'] },
): Refusal {
  const short = `${availableUSD} USD are left and ${neededUSD} USD are needed`;
  switch (by) {
    case 'Budget': {
      const reset = resetTime === undefined ? undefined : rfc3339(resetTime);
      return {
        code: 'BudgetExceeded',
        message: `Budget "${name}" refuses the hold: ${short}; ${reset === undefined ? 'it is never reset' : `it is reset at ${reset}`}`,
        fix: `Raise spec.limitUSD of Budget "${name}", ask for less${reset === undefined ? '' : `, or try again after ${reset}`}.`,
        target,
      };
    }
    case 'Cap':
      return limited === uid ? capTooLow(neededUSD, availableUSD, target) : capAbove(short, target);
    case 'Wallet':
      if (disputed === true) return disputedFirst(target);
      return arrearsUSD === undefined ? creditsTooFew(short, target) : arrearsFirst(arrearsUSD, neededUSD, target);
  }
}

function creditsTooFew(short: string, target: Refusal['target']): Refusal {
  return {
    code: 'InsufficientCredits',
    message: `the wallet refuses the hold: ${short}`,
    fix: 'Add credits with a TopUp, ask for less, or wait until other work ends and gives back what it holds, which the wallet shows as heldUSD.',
    target,
  };
}

function arrearsFirst(arrearsUSD: string, neededUSD: string, target: Refusal['target']): Refusal {
  return {
    code: 'ArrearsOutstanding',
    message: `the wallet refuses the hold of ${neededUSD} USD: ${arrearsUSD} USD are owed and have to be paid first`,
    fix: 'Add credits with a TopUp: they pay what is owed first.',
    target,
  };
}

function disputedFirst(target: Refusal['target']): Refusal {
  return {
    code: 'PaymentDisputed',
    message: 'the wallet takes no new work: a payment is disputed, and the bank has not decided yet',
    fix: 'Withdraw the dispute at the bank, or wait for its decision. Work that runs goes on.',
    target,
  };
}

function capTooLow(neededUSD: string, availableUSD: string, target: Refusal['target']): Refusal {
  const message = `must leave at least ${neededUSD} USD for the first hold, and leaves ${availableUSD}`;
  return {
    code: 'Invalid',
    message: `${target?.kind ?? ''} "${target?.name ?? ''}" is invalid: spec.maxCostUSD: ${message}`,
    causes: [{ field: 'spec.maxCostUSD', reason: 'FieldValueInvalid', message }],
    fix: 'Raise spec.maxCostUSD, or leave it out: a dry run shows the first hold as status.estimate.holdUSD.',
    target,
  };
}

function capAbove(short: string, target: Refusal['target']): Refusal {
  return {
    code: 'BudgetExceeded',
    message: `maxCostUSD of the object that owns this one refuses the hold: ${short}`,
    causes: [{ field: 'spec.maxCostUSD', reason: MAX_COST_REACHED, message: short }],
    fix: 'Raise spec.maxCostUSD of the owner.',
    target,
  };
}

export function notFound(address: Address): Refusal {
  return {
    code: 'NotFound',
    message: `${address.kind} "${address.name}" not found`,
    target: { kind: address.kind, name: address.name },
  };
}
