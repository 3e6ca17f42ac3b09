/**
 * Charges requests to models to their block, a hold that no time bills, and sets what the block holds from now on (I7).
 *
 * - A charge is never more than what the hold can be charged in this month; the service pays the rest. It counts in Budgets that were made since.
 * - A block gets less at any time. It gets more when every limited counter of now has the room, and has a part on each of them then; else it
 *   keeps what is left, and has parts of that on Budgets that were made since, as work that runs does.
 * - Each draw has a number, so one that comes twice is carried out once.
 */
import { fits, isPaused, refusalByDispute, refusalOn, tightest } from './admission.js';
import type { Book } from './book.js';
import { take, type Charge } from './charge.js';
import { monthOf, WALLET } from './counters.js';
import { amountOfHold, capacityIn, countersIn, type Hold, type Part } from './hold.js';
import { lateBudgets, lateCounters } from './late-budgets.js';
import type { HoldRefusal, ModelUse, MoneyOperation, OperationResult } from './operation.js';
import { countersOf } from './payer.js';
import { chargedTo, postCharges } from './post-charges.js';
import { partsOf } from './renewal.js';
import { UNIT_MS, type Terms } from './terms.js';
import { amountOf, readUSD, USD } from './usd.js';

/** Of a block: what it holds is said with each draw. */
export const BLOCK_TERMS: Terms = {
  ...{ rateUSDPerHour: '0', minimumUSD: '0', incrementMs: 1, unitMs: UNIT_MS, reserveMs: 0 },
};
const MINUTE = 60_000;
/** `block/<epoch>/<payer>/<n>` */
const BLOCK = 'block/';

export function blockKey(epoch: number, payer: string, n: number): string {
  return `${BLOCK}${epoch}/${payer}/${n}`;
}

/** Nobody runs work on it that could be stopped or go on. */
export function isBlock(key: string): boolean {
  return key.startsWith(BLOCK);
}

export function draw(
  book: Book,
  hold: Hold,
  { draw: number, usedUSD, holdUSD, underWayUSD, use }: Extract<MoneyOperation, { op: 'Draw' }>,
  now: number,
): OperationResult {
  if (hold.billing !== undefined || number !== (hold.drawn ?? 0) + 1) return { outcome: 'Nothing', why: 'MovedOn' };
  const { charged, chargedUSD } = chargeUse(book, hold, amountOf(usedUSD), now);
  const drawing = { ...charged, drawn: number, underWayUSD, sequence: hold.sequence + 1 };
  book.setHold(hold.key, drawing);
  if (use !== undefined) countUse(book, use, chargedUSD, now);
  const { next, refusal, short } = resize(book, drawing, holdUSD, now);
  const drawn = {
    short,
    ...{ chargedUSD: chargedUSD.toFixed(), heldUSD: capacityIn(next, monthOf(now)).toFixed() },
    counters: next.parts.map(({ counter }) => counter),
  };
  return { outcome: 'Applied', refusal, drawn };
}

/** Nobody will say what requests under way came to. */
export function chargeUnderWay(book: Book, hold: Hold, now: number): Hold {
  if (hold.underWayUSD === undefined) return hold;
  const { charged } = chargeUse(book, hold, amountOf(hold.underWayUSD), now);
  const next = { ...charged, underWayUSD: undefined, sequence: hold.sequence + 1 };
  book.setHold(hold.key, next);
  return next;
}

/** In the minute of now. */
export function countUse(book: Book, use: ModelUse, costUSD: USD, now: number): void {
  book.addUse({ ...use, minute: now - (now % MINUTE), costUSD });
}

function chargeUse(
  book: Book,
  hold: Hold,
  used: USD,
  now: number,
): { readonly charged: Hold; readonly chargedUSD: USD } {
  const period = monthOf(now);
  const { paid, budgets } = chargedTo(book, hold);
  const counters = [...countersIn(hold, period), ...lateCounters(lateBudgets(hold, budgets), now)];
  // I7: never more than was held.
  const amountUSD = USD.min(used, capacityIn(hold, period));
  if (used.isZero()) return { charged: hold, chargedUSD: amountUSD };
  const charge: Charge = {
    ...{ segment: 'Running', period, amountUSD, coveredUSD: used.minus(amountUSD), counters, paid },
  };
  const charged = { ...hold, parts: take(hold.parts, new Set(counters), amountUSD) };
  return { charged: postCharges(book, { hold: charged, charges: [charge] }), chargedUSD: amountUSD };
}

/** Precondition: the book has `charged` as it is. */
function resize(
  book: Book,
  charged: Hold,
  holdUSD: string,
  now: number,
): { readonly next: Hold; readonly refusal: HoldRefusal | undefined; readonly short?: true } {
  const countersAt = (at: number): readonly string[] => countersOf(charged.payer, book.budgets.values(), at);
  const split = (amount: USD): readonly Part[] => partsOf(charged, amount, now, countersAt);
  const asked = amountOf(holdUSD);
  const wanted = split(asked);
  const set = (next: Hold): Hold => {
    book.setHold(next.key, next);
    return next;
  };
  const held = amountOfHold(charged);
  const paused = isPaused(book) && asked.gt(held);
  // I7
  if (!paused && fits(book, charged.parts, wanted)) {
    const next = set({ ...charged, parts: wanted, refusal: undefined, fundedIn: book.modeSequence });
    return { next, refusal: undefined };
  }
  const counter = paused ? WALLET : tightest(book, charged.parts, wanted);
  const late = new Set(lateCounters(lateBudgets(charged, [...book.budgets.values()]), now));
  const kept = USD.min(asked, held);
  const next = set({
    ...charged,
    parts: [...atMost(charged.parts, kept), ...split(kept).filter((part) => late.has(part.counter))],
  });
  const isEnough = capacityIn(next, monthOf(now)).gte(asked);
  if (isEnough) return { next, refusal: undefined, short: true };
  const { key } = charged;
  // What is free beside it is what it could have more.
  const refusal = paused ? refusalByDispute(book, key, wanted) : refusalOn(book, key, counter, wanted);
  return { next, refusal, short: true };
}

function atMost(parts: readonly Part[], most: USD): readonly Part[] {
  return parts.map((part) => (most.lt(readUSD(part.amountUSD)) ? { ...part, amountUSD: most.toFixed() } : part));
}
