/**
 * The hold of work that waits: taken by the write that asks for the work, so that its client hears at once when there is no money for it, and
 * given up for the hold of the first Attempt, in one commit. The Attempt's own is in `../attempt/billing.ts`.
 */
import type { HoldRefusal } from '../../money/operation.js';
import type { Effect } from '../effect.js';
import type { AttemptOwner } from './requests.js';
import { costOwner } from './payer.js';
import { parseTerms } from './terms.js';

export function firstHoldKey(ownerUid: string): string {
  return `${ownerUid}/first`;
}

/** To be asked for by a client's write alone: a hold that is refused refuses the write. Free work holds nothing. */
export function placeFirstHold(owner: AttemptOwner): readonly Effect[] {
  const terms = parseTerms(owner.terms());
  if (isFree(terms)) return [];
  const { uid } = owner.object.metadata;
  const key = firstHoldKey(uid);
  return [
    // One that still stands, of work that was asked for before, is given up first.
    { type: 'Money', operation: { op: 'Release', key } },
    {
      type: 'Money',
      operation: { op: 'Place', key, owner: costOwner(owner.self, uid), payer: owner.payer(), terms },
    },
  ];
}

/** Nothing is wanted any more. */
export function releaseFirstHold(owner: AttemptOwner): readonly Effect[] {
  if (isFree(parseTerms(owner.terms()))) return [];
  return [{ type: 'Money', operation: { op: 'Release', key: firstHoldKey(owner.object.metadata.uid) } }];
}

export function isFree({ rateUSDPerHour, minimumUSD }: { rateUSDPerHour: string; minimumUSD: string }): boolean {
  return Number(rateUSDPerHour) === 0 && Number(minimumUSD) === 0;
}

/** Codes by which money refuses work. */
const MONEY: ReadonlySet<string> = new Set([
  ...['BudgetExceeded', 'InsufficientCredits', 'ArrearsOutstanding', 'PaymentDisputed', 'MaxCostReached'],
]);

export function isRefusedByMoney(reason: string): boolean {
  return MONEY.has(reason);
}

/** Why an Attempt was ended when what it held was used up. */
export const UNFUNDED = 'Unfunded';
export const MAX_COST_REACHED = 'MaxCostReached';

/** The reason that an owner gives for work which a Budget or the wallet stopped; absent: an Attempt of an earlier version does not say. */
export function fundingReason(shortfall: HoldRefusal | undefined): string {
  return shortfall?.by === 'Wallet' ? 'InsufficientCredits' : 'BudgetExceeded';
}

/** Why there was no more money for it, then: words that stay true. */
export function sayShortfall(shortfall: HoldRefusal | undefined): string {
  if (shortfall === undefined) return 'what it held is used up';
  const { by, name = '', availableUSD, neededUSD, limitUSD } = shortfall;
  const short = `${availableUSD} of ${limitUSD} USD were left and ${neededUSD} USD were needed`;
  switch (by) {
    case 'Budget':
      return `Budget "${name}" refused more money: ${short}`;
    case 'Cap':
      return `maxCostUSD left too little: ${short}`;
    case 'Wallet':
      return `the wallet refused more money: ${short}`;
  }
}
