/** What can be asked of an org's book, and what is answered. Times are ms on Postgres's clock, amounts decimal strings in USD. */
import { parseLabelSelector } from '../api/selectors/label.js';
import { SEGMENTS, type Segment, type Terms } from './hold.js';
import type { BudgetLimit, WalletMode } from './limits.js';
import type { CostOwner, Payer } from './payer.js';
import { amountOf } from './usd.js';

export type MoneyOperation =
  /** `amountUSD`: default `firstAmount(terms)`. `replaces`: the key of a hold that is released in the same step. */
  | {
      readonly op: 'Place';
      readonly key: string;
      readonly owner: CostOwner;
      readonly payer: Payer;
      readonly terms: Terms;
      readonly amountUSD?: string | undefined;
      readonly replaces?: string | undefined;
    }
  /** A segment begins at `from`, which is clamped between what is billed and now. The rate stays unless it is given. */
  | {
      readonly op: 'Bill';
      readonly key: string;
      readonly segment: Segment;
      readonly from: number;
      readonly rateUSDPerHour?: string | undefined;
    }
  /** Charges until now and takes money for the time ahead. With `sequence`: only if the hold has not changed since. */
  | { readonly op: 'Renew'; readonly key: string; readonly sequence?: number | undefined }
  /**
   * Charges until `until` (default: now) and gives the rest back. `covered`: segments that the service pays. `abandoned`: the process that drew
   * on it has ended, and what was under way then is charged by what it has said of it last.
   */
  | {
      readonly op: 'Release';
      readonly key: string;
      readonly until?: number | undefined;
      readonly covered?: readonly Segment[] | undefined;
      readonly abandoned?: true | undefined;
    }
  | { readonly op: 'SetBudget'; readonly budget: BudgetLimit }
  | { readonly op: 'DropBudget'; readonly uid: string }
  /** Undefined: no cap. */
  | { readonly op: 'SetCap'; readonly uid: string; readonly limitUSD: string | undefined }
  | { readonly op: 'SetMode'; readonly mode: WalletMode }
  /** `grant`: uid of the CreditGrant, `name`: its name. `once`: a key of the outside world, which is carried out once and then skipped. */
  | {
      readonly op: 'Credit';
      readonly grant: string;
      readonly name?: string | undefined;
      readonly amountUSD: string;
      readonly expires?: number | undefined;
      readonly once?: string | undefined;
    }
  /**
   * Takes back what a payment has bought: of its grant first, then of others, then of the account `wallet`, which may fall below zero. Nothing
   * can stop it, so it asks for no room. `grant`: uid of the CreditGrant. `once` as above, with `clawback/` before it.
   */
  | { readonly op: 'Clawback'; readonly grant: string; readonly amountUSD: string; readonly once: string }
  /** Payments of the org are disputed: in an org that pays in advance nothing new gets a hold until they no longer are. What runs goes on. */
  | { readonly op: 'SetDisputed'; readonly disputed: boolean }
  /**
   * Corrects use that was posted, by a posting of its own: so much more or, below zero, less, where and when the use counts. It asks for no
   * money and may pass limits; less than nothing is not left of the use. `once` as above.
   */
  | { readonly op: 'Correct'; readonly posting: string; readonly amountUSD: string; readonly once: string }
  /**
   * Charges what requests to models have used to a hold that no time bills (a block), never more than it has, and sets what it holds from
   * now on; where there is no room for more, it keeps what is left and says who refused. `draw`: one more than the last of this hold; one
   * that comes twice does nothing. `use` is counted in the same transaction. `underWayUSD`: what requests that go on have used by an estimate,
   * which may still become less; it is part of what is held. A hold that time bills has moved on from draws.
   */
  | {
      readonly op: 'Draw';
      readonly key: string;
      readonly draw: number;
      readonly usedUSD: string;
      readonly holdUSD: string;
      readonly underWayUSD?: string | undefined;
      readonly use?: ModelUse | undefined;
    }
  /** Counts requests that cost nothing. */
  | { readonly op: 'Count'; readonly use: ModelUse }
  /** Takes what grants whose time is over still have and nobody holds. Every other operation does the same first. */
  | { readonly op: 'Expire' };

/** What requests through one InferenceEndpoint came to; what they cost is what is charged with it. */
export interface ModelUse {
  /** Of the InferenceEndpoint. */
  readonly uid: string;
  readonly requests: number;
  /** Of them, those that ended without a charge. */
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What refused a hold, as a client sees it. */
export interface HoldRefusal {
  readonly key: string;
  readonly by: 'Budget' | 'Cap' | 'Wallet';
  /** The counter that lacks most, and its limit: all that was ever there for it. */
  readonly counter: string;
  readonly limitUSD: string;
  /** Of the Budget, or of the object whose cap it is. */
  readonly uid?: string | undefined;
  /** Of the Budget. */
  readonly name?: string | undefined;
  /** Never below zero. */
  readonly availableUSD: string;
  readonly neededUSD: string;
  /** Of the wallet: what it owes, which is to be paid before it gives anything. */
  readonly arrearsUSD?: string | undefined;
  /** Of the wallet: it refuses everything new, since a payment is disputed. */
  readonly disputed?: true | undefined;
  /** When a monthly Budget begins anew (ms). */
  readonly resetTime?: number | undefined;
}

export interface Applied {
  readonly outcome: 'Applied';
  /** Of the hold that it was about. Undefined: nothing is billed, it costs nothing, or it is released. */
  readonly fundedUntil?: number | undefined;
  /** When it is placed, billed or renewed: something limits what may be spent on it, so that more time than is funded must not be used. */
  readonly limited?: true | undefined;
  /** Of a renewal that got nothing, or of a draw that got no more: what was held before stays, and is charged. */
  readonly refusal?: HoldRefusal | undefined;
  /** Of a renewal: whether it is refused for the first time, or has money again. */
  readonly funding?: 'Refused' | 'Restored' | undefined;
  /** Of a draw. With `refusal`: it has no more than before. */
  readonly drawn?: Drawn | undefined;
}

/** What a draw came to. */
export interface Drawn {
  /** Of what was used; the service pays the rest. */
  readonly chargedUSD: string;
  /** What the hold can be charged from now on in this month. */
  readonly heldUSD: string;
  /** On which it has a part. */
  readonly counters: readonly string[];
  /** One of them has less than nothing, or no room for what was asked: what is given back belongs to it. */
  readonly short?: true | undefined;
}

export type OperationResult =
  | Applied
  | ({ readonly outcome: 'Refused' } & HoldRefusal)
  /** A hold or grant stands under the key: an error of the caller. */
  | { readonly outcome: 'DuplicateKey'; readonly key: string }
  /**
   * Nothing was changed. Gone: no hold, or no posting, has the key. MovedOn: the hold has changed since. Once: the outside key is known.
   * TooMuch: more would be given back than was charged.
   */
  | { readonly outcome: 'Nothing'; readonly why: 'Gone' | 'MovedOn' | 'Once' | 'TooMuch' };

/** Throws a RangeError for an operation that no book could carry out: its member is refused before it shares a transaction (I7). */
export function checkOperation(operation: MoneyOperation): void {
  switch (operation.op) {
    case 'Place':
      checkTerms(operation.terms);
      if (operation.amountUSD !== undefined) amountOf(operation.amountUSD);
      return;
    case 'Bill':
      checkTime(operation.from);
      if (!SEGMENTS.includes(operation.segment)) throw new RangeError(`no segment ${operation.segment}`);
      if (operation.rateUSDPerHour !== undefined) amountOf(operation.rateUSDPerHour);
      return;
    case 'Release':
      if (operation.until !== undefined) checkTime(operation.until);
      return;
    case 'SetBudget':
      amountOf(operation.budget.limitUSD);
      if (parseLabelSelector(operation.budget.selector ?? '').outcome === 'Refused')
        throw new RangeError(`Budget ${operation.budget.uid} has a selector that cannot be read`);
      return;
    case 'SetCap':
      if (operation.limitUSD !== undefined) amountOf(operation.limitUSD);
      return;
    case 'Credit':
      amountOf(operation.amountUSD);
      if (operation.expires !== undefined) checkTime(operation.expires);
      return;
    case 'Clawback':
      amountOf(operation.amountUSD);
      return;
    case 'Correct':
      amountOf(operation.amountUSD.replace(/^-/, ''));
      return;
    case 'Draw':
      amountOf(operation.usedUSD);
      amountOf(operation.holdUSD);
      if (!Number.isSafeInteger(operation.draw) || operation.draw < 1)
        throw new RangeError(`${operation.draw} is not the number of a draw`);
      if (operation.use !== undefined) checkUse(operation.use);
      return;
    case 'Count':
      checkUse(operation.use);
      return;
    default:
  }
}

function checkTerms({ rateUSDPerHour, minimumUSD, incrementMs, unitMs, reserveMs }: Terms): void {
  amountOf(rateUSDPerHour);
  amountOf(minimumUSD);
  for (const ms of [incrementMs, unitMs])
    if (!Number.isSafeInteger(ms) || ms < 1) throw new RangeError(`${ms} ms is not a length of billing time`);
  if (!Number.isSafeInteger(reserveMs) || reserveMs < 0) throw new RangeError(`${reserveMs} ms is not a reserve`);
}

function checkUse({ uid, requests, errors, inputTokens, outputTokens }: ModelUse): void {
  if (uid === '') throw new RangeError('use of requests to models names no InferenceEndpoint');
  for (const count of [requests, errors, inputTokens, outputTokens])
    if (!Number.isSafeInteger(count) || count < 0)
      throw new RangeError(`${count} is not a count of requests or tokens`);
  if (errors > requests) throw new RangeError(`${errors} of ${requests} requests cannot have ended without a charge`);
}

function checkTime(at: number): void {
  if (!Number.isSafeInteger(at)) throw new RangeError(`${at} is not a time in ms`);
}
