/** Computes how much a hold needs for so much time, on which counters, how long it lasts, and when it is to be renewed. Pure. */
import { isOfMonth, monthOf, periodEnd } from './counters.js';
import {
  amountOfHold,
  billedMsOf,
  capacityIn,
  ceilTo,
  firstAmount,
  hasMonthlyParts,
  MS_PER_HOUR,
  priceOf,
  reserveOf,
  settledOf,
  type Hold,
  type Part,
  type Terms,
} from './hold.js';
import { readUSD, USD } from './usd.js';

/** A renewal keeps so many units ahead, and up to the larger number when money is plenty. */
export const FEW_UNITS = 2;
export const MANY_UNITS = 60;
/** A hold is renewed when it has half a unit left, and this much at least (ms): a restart of the service takes 20 s, and what is due then some more. */
const LEAST_LEFT = 30_000;
/** A refused renewal is tried again after this long (ms) if nothing has woken it before. */
const TRY_AGAIN = 60_000;
/** A squeezed hold is renewed after this long (ms): by then others of its Budget have given back what they do not need now. */
const OTHERS_GIVE_BACK = 2_000;
/** Work that waits has its part of the next month so many units before this one ends. */
const UNITS_BEFORE_END = 2;

/** The whole amount that the hold needs for so many units more from `billing.since` on, reserve included. */
export function needOf(hold: Hold): (units: number) => USD {
  const { billing, terms } = hold;
  const rate = readUSD(billing?.rateUSDPerHour ?? terms.rateUSDPerHour);
  const billed = billedMsOf(hold);
  const accrued = new USD(hold.accrued);
  const minimum = readUSD(terms.minimumUSD);
  const beside = reserveOf(terms, billing?.rateUSDPerHour).minus(settledOf(hold));
  return (units) => {
    const ahead = ceilTo(billed + units * terms.unitMs, terms.incrementMs) - billed;
    const cost = rate.times(ahead).plus(accrued).dividedBy(MS_PER_HOUR, 'Up');
    return (cost.lt(minimum) ? minimum : cost).plus(beside);
  };
}

/**
 * Splits an amount over the counters of this month and the next. Where billing runs, each month has its share of the time that the amount
 * lasts; before that, the work may begin in either, so near the end of a month both have all of it. `countersAt`: the counters that
 * bind at a time.
 */
export function partsOf(
  hold: Pick<Hold, 'billing' | 'terms'>,
  amount: USD,
  now: number,
  countersAt: (at: number) => readonly string[],
): readonly Part[] {
  const end = periodEnd(now);
  const whole = amount.toFixed();
  const parts = (at: number, monthly: USD): Part[] => {
    const share = monthly === amount ? whole : monthly.toFixed();
    return countersAt(at).map((counter) => ({ counter, amountUSD: isOfMonth(counter) ? share : whole }));
  };
  const onlyMonthly = ({ counter }: Part): boolean => isOfMonth(counter);
  if (hold.billing === undefined) {
    const soon = now + UNITS_BEFORE_END * hold.terms.unitMs >= end;
    return soon ? [...parts(now, amount), ...parts(end, amount).filter(onlyMonthly)] : parts(now, amount);
  }
  const before = USD.min(amount, priceOf(hold.billing.rateUSDPerHour, end - now));
  const rest = amount.minus(before);
  if (rest.isZero() || new USD(hold.billing.rateUSDPerHour).isZero()) return parts(now, amount);
  return [...parts(now, before), ...parts(end, rest).filter(onlyMonthly)];
}

/** Until when what is held lasts, the reserve left out (ms). Undefined: nothing is billed, or it costs nothing. */
export function fundedUntil(hold: Hold): number | undefined {
  const { billing, terms } = hold;
  if (billing === undefined) return undefined;
  const rate = readUSD(billing.rateUSDPerHour);
  if (rate.isZero()) return undefined;
  const { since } = billing;
  const paid = settledOf(hold).minus(reserveOf(terms, billing.rateUSDPerHour));
  // From what was paid, not from what is held: else what was rounded before would shorten it.
  const msFor = (amount: USD): number =>
    USD.max(0, paid.plus(amount).times(MS_PER_HOUR).minus(hold.accrued)).wholeTimes(rate);
  const billed = billedMsOf(hold);
  // Time is charged in whole increments, so a part of one is not funded.
  const whole = Math.floor((billed + msFor(chargeable(hold, since))) / terms.incrementMs) * terms.incrementMs;
  return since + Math.max(0, whole - billed);
}

/** How long (ms) the first amount of these terms lasts, the reserve left out. Undefined: it costs nothing. */
export function firstFundedMs(terms: Terms): number | undefined {
  const rate = new USD(terms.rateUSDPerHour);
  if (rate.isZero()) return undefined;
  const ms = firstAmount(terms).minus(reserveOf(terms)).times(MS_PER_HOUR).wholeTimes(rate);
  return Math.floor(ms / terms.incrementMs) * terms.incrementMs;
}

/** What can be charged from `since` on, this month and the next, at the rate of now. */
function chargeable(hold: Hold, since: number): USD {
  if (!hasMonthlyParts(hold)) return amountOfHold(hold);
  const first = capacityIn(hold, monthOf(since));
  const end = periodEnd(since);
  const untilEnd = priceOf(hold.billing?.rateUSDPerHour ?? '0', end - since);
  if (first.lt(untilEnd)) return first;
  return USD.min(untilEnd.plus(capacityIn(hold, monthOf(end))), amountOfHold(hold));
}

/** When the hold is to be renewed (ms). Undefined: never, as it stands. */
export function renewAt(hold: Hold, now: number): number | undefined {
  if (hold.billing === undefined) {
    if (!hasMonthlyParts(hold)) return undefined;
    if (hold.refusal !== undefined) return now + TRY_AGAIN;
    const end = periodEnd(now);
    const early = end - UNITS_BEFORE_END * hold.terms.unitMs;
    return now < early ? early : end;
  }
  const until = fundedUntil(hold);
  if (until === undefined) return undefined;
  if (hold.squeezed === true) return now + OTHERS_GIVE_BACK;
  if (hold.refusal !== undefined) return now + TRY_AGAIN;
  const left = Math.max(0, until - now);
  const { unitMs } = hold.terms;
  return now + Math.floor(left - Math.min(unitMs, Math.max(unitMs / 2, LEAST_LEFT), left / 2));
}
