/** Decides whether a hold or its renewal fits, how much a renewal gets, and which counter refuses it. Pure (I7). */
import { availableOn, balanceOf, type Book } from './book.js';
import { parseCounter, periodEnd, WALLET } from './counters.js';
import { amountOfHold, type Hold, type Part } from './hold.js';
import type { HoldRefusal } from './operation.js';
import { lateBudgets, lateCounters } from './late-budgets.js';
import { countersOf } from './payer.js';
import { FEW_UNITS, MANY_UNITS, needOf, partsOf } from './renewal.js';
import { readUSD, showUSD, USD, ZERO } from './usd.js';

/** All holders of a counter may together take one part in so many of what is free, where money is not plenty. */
const SHARES = 2;

export type Renewal =
  /** Squeezed: it got nothing, and gave back all but a few units. */
  | { readonly outcome: 'Renewed'; readonly parts: readonly Part[]; readonly squeezed?: true | undefined }
  | {
      readonly outcome: 'Refused';
      readonly parts: readonly Part[];
      readonly counter: string;
      readonly refusal: HoldRefusal;
    };

/** Whether every limited counter has what the new parts need, beside the old ones that they take the place of. What costs nothing fits. */
export function fits(book: Book, own: readonly Part[], parts: readonly Part[]): boolean {
  return parts.every(({ counter, amountUSD }) => {
    const room = roomOn(book, own, counter);
    return room === undefined || room.gte(readUSD(amountUSD)) || readUSD(amountUSD).isZero();
  });
}

/** The limited counter that lacks most. Precondition: the parts do not fit. */
export function tightest(book: Book, own: readonly Part[], parts: readonly Part[]): string {
  let found: { counter: string; lacks: USD } | undefined;
  for (const { counter, amountUSD } of parts) {
    const lacks = roomOn(book, own, counter)?.minus(amountUSD).negated();
    if (lacks !== undefined && (found === undefined || lacks.gt(found.lacks))) found = { counter, lacks };
  }
  return found?.counter ?? '';
}

export function refusalOn(book: Book, key: string, counter: string, parts: readonly Part[]): HoldRefusal {
  const available = availableOn(book, counter) ?? ZERO;
  const { spentUSD, heldUSD } = book.counter(counter);
  const needed = parts.find((part) => part.counter === counter)?.amountUSD ?? '0';
  const about = {
    ...{ key, counter, limitUSD: showUSD(available.plus(spentUSD).plus(heldUSD)) },
    ...{ availableUSD: showUSD(USD.max(0, available)), neededUSD: showUSD(new USD(needed)) },
  };
  const name = parseCounter(counter);
  if (name.of === 'Wallet') {
    const balance = balanceOf(book);
    return { ...about, by: 'Wallet', ...(balance.lt(0) && { arrearsUSD: showUSD(balance.negated()) }) };
  }
  if (name.of === 'Cost') return { ...about, by: 'Cap', uid: name.uid };
  const resetTime = name.period === 'total' ? undefined : periodEnd(Date.parse(`${name.period}-01T00:00:00Z`));
  return { ...about, by: 'Budget', uid: name.uid, name: book.budgets.get(name.uid)?.name, resetTime };
}

/** A payment is disputed, and the org pays in advance: nothing gets more than it has. */
export function isPaused({ disputed, mode }: Pick<Book, 'disputed' | 'mode'>): boolean {
  return disputed && mode === 'Prepaid';
}

/** Nothing is free for it, whatever the wallet has. */
export function refusalByDispute(book: Book, key: string, parts: readonly Part[]): HoldRefusal {
  return { ...refusalOn(book, key, WALLET, parts), availableUSD: showUSD(ZERO), disputed: true };
}

/**
 * The parts of a hold that is renewed, by the Budgets of now. It gets many units ahead when no counter gives more than its share for that, else
 * as many as the share has, else few, else what keeps it at least one unit ahead.
 *
 * Where not even that fits it keeps what it has, and counts in Budgets that were made since. Should one of its Budgets have less than nothing
 * then (it was made under the work, or lowered), the hold gives back all but few units, and when that has not helped, all but what the end of
 * the work takes. Precondition: it is charged until now.
 */
export function renewedParts(book: Book, hold: Hold, now: number): Renewal {
  // Asked again for each number of units that is tried.
  const known = new Map<number, readonly string[]>();
  const countersAt = (at: number): readonly string[] => {
    const counters = known.get(at) ?? countersOf(hold.payer, book.budgets.values(), at);
    known.set(at, counters);
    return counters;
  };
  const split = (amount: USD): readonly Part[] => partsOf(hold, amount, now, countersAt);
  const held = amountOfHold(hold);
  const needed = needOf(hold);
  let least: readonly Part[] = [];
  for (const amount of hold.billing === undefined ? [held] : choicesFor(book, hold, held, needed, split)) {
    least = split(amount);
    if (fits(book, hold.parts, least)) return { outcome: 'Renewed', parts: least };
  }
  const counter = tightest(book, hold.parts, least);
  const refusal = refusalOn(book, hold.key, counter, least);
  const late = new Set(lateCounters(lateBudgets(hold, [...book.budgets.values()]), now));
  const kept = [...hold.parts, ...split(held).filter((part) => late.has(part.counter))];
  if (hold.billing === undefined || !isOver(book, kept, late, countersAt(now)))
    return { outcome: 'Refused', parts: kept, counter, refusal };
  const few = needed(FEW_UNITS);
  if (hold.refusal === undefined && held.gt(few))
    return { outcome: 'Renewed', parts: atMost(kept, split(few)), squeezed: true };
  return { outcome: 'Refused', parts: atMost(kept, split(needed(0))), counter, refusal };
}

/** The amounts that a renewal tries, the largest first. The first one fits as a rule. */
function* choicesFor(
  book: Book,
  hold: Hold,
  held: USD,
  needed: (units: number) => USD,
  split: (amount: USD) => readonly Part[],
): Generator<USD> {
  yield needed(mostUnits(book, hold, needed, split) ?? FEW_UNITS);
  const one = needed(1);
  yield USD.max(one, held);
  yield one;
}

/** Whether a Budget of now has less than nothing, with the parts on those that were made since. */
function isOver(book: Book, parts: readonly Part[], late: ReadonlySet<string>, counters: readonly string[]): boolean {
  return parts.some(({ counter, amountUSD }) => {
    if (parseCounter(counter).of !== 'Budget' || !counters.includes(counter)) return false;
    const free = availableOn(book, counter);
    return free !== undefined && free.lt(late.has(counter) ? readUSD(amountUSD) : ZERO);
  });
}

/**
 * No part gets more than it has; one that is not needed any more goes. A Budget that had a part only of an earlier month keeps the hold bound by
 * one of this month, without money.
 */
function atMost(parts: readonly Part[], wanted: readonly Part[]): readonly Part[] {
  const amounts = new Map(wanted.map(({ counter, amountUSD }) => [counter, amountUSD]));
  const less = parts.flatMap(({ counter, amountUSD: has }) => {
    const amountUSD = amounts.get(counter);
    if (amountUSD === undefined) return [];
    return [{ counter, amountUSD: readUSD(amountUSD).lt(readUSD(has)) ? amountUSD : has }];
  });
  const budgetsIn = (some: readonly Part[]): Set<string> =>
    new Set(some.flatMap(({ counter }) => budgetIn(counter) ?? []));
  const [before, after] = [budgetsIn(parts), budgetsIn(less)];
  const lost = wanted.filter(({ counter }) => {
    const budget = budgetIn(counter);
    return budget !== undefined && before.has(budget) && !after.has(budget);
  });
  return [...less, ...lost.map(({ counter }) => ({ counter, amountUSD: '0' }))];
}

function budgetIn(counter: string): string | undefined {
  const name = parseCounter(counter);
  return name.of === 'Budget' ? name.uid : undefined;
}

/** The most units, up to many, that take no more than the hold's share of any counter. Undefined: not even few. */
function mostUnits(
  book: Book,
  hold: Hold,
  needed: (units: number) => USD,
  split: (amount: USD) => readonly Part[],
): number | undefined {
  const most = new Map<string, USD | undefined>();
  const mostOn = (counter: string): USD | undefined => {
    if (!most.has(counter)) most.set(counter, shareOn(book, hold.parts, counter));
    return most.get(counter);
  };
  const largest = split(needed(MANY_UNITS));
  const [first] = largest;
  // Where all of it counts in one month every part is the whole amount, of less as well: the tightest counter decides.
  const whole = largest.every(({ amountUSD }) => amountUSD === first?.amountUSD);
  const tightestShare = whole ? leastOf(largest.map(({ counter }) => mostOn(counter))) : undefined;
  const plenty = (units: number): boolean => {
    const amount = needed(units);
    if (whole) return tightestShare === undefined || amount.isZero() || amount.lte(tightestShare);
    return split(amount).every(
      (part) => part.amountUSD === '0' || (mostOn(part.counter)?.gte(readUSD(part.amountUSD)) ?? true),
    );
  };
  if (!plenty(FEW_UNITS)) return undefined;
  // What is needed grows with the units.
  let [enough, tooMany] = [FEW_UNITS, MANY_UNITS + 1];
  while (tooMany - enough > 1) {
    const middle = enough === FEW_UNITS && tooMany > MANY_UNITS ? MANY_UNITS : Math.floor((enough + tooMany) / 2);
    if (plenty(middle)) enough = middle;
    else tooMany = middle;
  }
  return enough;
}

/** Undefined: there is none. */
function leastOf(amounts: readonly (USD | undefined)[]): USD | undefined {
  let least: USD | undefined;
  for (const amount of amounts) if (amount !== undefined && (least === undefined || amount.lt(least))) least = amount;
  return least;
}

/** The most that a hold takes of a counter where money is not plenty: what it has, and its share of what is free. Undefined: nothing limits it. */
function shareOn(book: Book, own: readonly Part[], counter: string): USD | undefined {
  const free = availableOn(book, counter);
  if (free === undefined) return undefined;
  const share = USD.max(0, free).dividedBy(SHARES * Math.max(1, book.counter(counter).holders), 'Down');
  const has = ownOn(own, counter);
  return USD.min(share, free).plus(has);
}

/** What is free on a counter and what the hold has there already. Undefined: nothing limits it. */
function roomOn(book: Book, own: readonly Part[], counter: string): USD | undefined {
  return availableOn(book, counter)?.plus(ownOn(own, counter));
}

function ownOn(own: readonly Part[], counter: string): USD {
  const part = own.find((one) => one.counter === counter);
  return part === undefined ? ZERO : readUSD(part.amountUSD);
}
