/** What an InferenceEndpoint is told when money begins or ceases to refuse its requests. Pure. */
import { MAX_COST_REACHED } from '../../src/kinds/attempts/holds.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { HoldRefusal } from '../../src/money/operation.js';

export function fundingMessage(refusal: HoldRefusal | undefined): ObjectMessage {
  if (refusal === undefined) return { type: 'RequestsFunded' };
  const { by, name = '', availableUSD, neededUSD } = refusal;
  const short = `${availableUSD} USD are left and a request needs ${neededUSD} USD`;
  switch (by) {
    case 'Cap':
      return {
        type: 'RequestsFunded',
        refusal: { reason: MAX_COST_REACHED, message: `spec.maxCostUSD is reached: ${short}` },
      };
    case 'Budget':
      return { type: 'RequestsFunded', refusal: { reason: 'BudgetExceeded', message: `Budget "${name}": ${short}` } };
    case 'Wallet':
      return { type: 'RequestsFunded', refusal: { reason: 'InsufficientCredits', message: `the wallet: ${short}` } };
  }
}

const REASONS: ReadonlySet<string> = new Set([MAX_COST_REACHED, 'BudgetExceeded', 'InsufficientCredits']);

/** An InferenceEndpoint with this `status.reason` was told that money refuses. */
export function isOfMoney(reason: string | undefined): boolean {
  return reason !== undefined && REASONS.has(reason);
}
