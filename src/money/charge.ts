/**
 * Computes what a hold is charged: the price of its billed time so far, less what was charged before (I7). A charge never exceeds what the hold
 * has; the service covers the rest. No charge straddles the end of a month, and each counts in the month of its use.
 */
import { monthOf, periodEnd } from './counters.js';
import { endBefore, lateBudgets, lateCounters, withOpenings } from './late-budgets.js';
import type { StandingBudget } from './limits.js';
import {
  billedMsOf,
  capacityIn,
  ceilTo,
  countersIn,
  dueOf,
  settledOf,
  type Billing,
  type Charged,
  type Hold,
  type Part,
  type Segment,
} from './hold.js';
import { readUSD, USD, ZERO } from './usd.js';

export interface Charge {
  readonly segment: Segment;
  /** Month of the use. */
  readonly period: string;
  /** Below zero: it is given back. */
  readonly amountUSD: USD;
  /** What the service pays; with something given back, the same amount. */
  readonly coveredUSD: USD;
  readonly counters: readonly string[];
  /** From credits; else it is unbilled. What is given back goes to where it came from. */
  readonly paid: boolean;
}

/** Who pays. */
export interface ChargedTo {
  /** The credits of the wallet; else nothing is billed. */
  readonly paid: boolean;
  /** All of now: those of which the hold has no part count its use as well. */
  readonly budgets: readonly StandingBudget[];
  /** Segments that are not charged. */
  readonly byService?: readonly Segment[] | undefined;
}

export interface Charges {
  readonly hold: Hold;
  readonly charges: readonly Charge[];
}

/** Bills until `until` (ms), which is clamped to what is not billed yet. */
export function chargeUntil(hold: Hold, until: number, to: ChargedTo): Charges {
  const charges: Charge[] = [];
  const late = lateBudgets(hold, to.budgets);
  let current = hold;
  for (let { billing } = current; billing !== undefined && billing.since < until; { billing } = current) {
    const { since, segment } = billing;
    const end = endBefore(late, since, Math.min(until, periodEnd(since)));
    const step = settle(accrue(current, billing, end), segment, { since, late }, to);
    current = step.hold;
    if (step.charge !== undefined) charges.push(step.charge);
  }
  return { hold: current, charges };
}

/**
 * The last charges: until `until`, then whole increments of all billed time together and the minimum, both as Teardown. What was charged
 * before for segments that the service pays is given back.
 */
export function chargeToEnd(hold: Hold, until: number, to: ChargedTo): Charges {
  const { billing } = hold;
  if (billing === undefined) return { hold, charges: [] };
  const end = Math.max(until, billing.since);
  const billed = chargeUntil(hold, end, to);
  const rounded = roundUp(billed.hold, billing);
  const use = { since: end, late: lateBudgets(hold, to.budgets) };
  const last = settle(rounded, 'Teardown', use, to);
  const charges = last.charge === undefined ? billed.charges : [...billed.charges, last.charge];
  const back = last.hold.charged
    .filter(({ segment }) => to.byService?.includes(segment))
    .map((one) => giveBack(hold, one, to.budgets));
  return { hold: last.hold, charges: [...charges, ...back] };
}

function accrue(hold: Hold, billing: Billing, end: number): Hold {
  const ms = end - billing.since;
  const { segment, rateUSDPerHour } = billing;
  return {
    ...hold,
    billing: { ...billing, since: end },
    billedMs: { ...hold.billedMs, [segment]: (hold.billedMs[segment] ?? 0) + ms },
    accrued: new USD(rateUSDPerHour).times(ms).plus(hold.accrued).toFixed(),
  };
}

function roundUp(hold: Hold, { rateUSDPerHour }: Billing): Hold {
  const billed = billedMsOf(hold);
  const surplus = ceilTo(billed, hold.terms.incrementMs) - billed;
  const accrued = new USD(rateUSDPerHour).times(surplus).plus(hold.accrued);
  const minimum = new USD(hold.terms.minimumUSD).times(3_600_000);
  return {
    ...hold,
    billedMs: { ...hold.billedMs, Teardown: (hold.billedMs.Teardown ?? 0) + surplus },
    accrued: USD.max(accrued, minimum).toFixed(),
  };
}

interface UsedTime {
  /** ms. */
  readonly since: number;
  /** Budgets of which the hold has no part. */
  readonly late: readonly StandingBudget[];
}

/** Charges what is due and not settled yet, as far as the hold has it. */
function settle(
  hold: Hold,
  segment: Segment,
  { since, late }: UsedTime,
  { paid, byService }: ChargedTo,
): { readonly hold: Hold; readonly charge: Charge | undefined } {
  const due = dueOf(hold).minus(settledOf(hold));
  if (due.lte(0)) return { hold, charge: undefined };
  const period = monthOf(since);
  const counters = [...countersIn(hold, period), ...lateCounters(late, since)];
  // I7: never more than was held.
  const amountUSD = byService?.includes(segment) ? ZERO : USD.min(due, capacityIn(hold, period));
  const coveredUSD = due.minus(amountUSD);
  const covered = coveredUSD.plus(hold.coveredUSD[segment] ?? '0');
  return {
    hold: {
      ...hold,
      parts: take(hold.parts, new Set(counters), amountUSD),
      charged: amountUSD.isZero()
        ? hold.charged
        : addCharged(hold.charged, { segment, period, paid, counters }, amountUSD),
      coveredUSD: covered.isZero() ? hold.coveredUSD : { ...hold.coveredUSD, [segment]: covered.toFixed() },
    },
    charge: { segment, period, amountUSD, coveredUSD, counters, paid },
  };
}

/** What is left of the parts on these counters. */
export function take(parts: readonly Part[], counters: ReadonlySet<string>, amount: USD): readonly Part[] {
  if (amount.isZero()) return parts;
  return parts.map((part) =>
    counters.has(part.counter) ? { ...part, amountUSD: readUSD(part.amountUSD).minus(amount).toFixed() } : part,
  );
}

function addCharged(
  charged: readonly Charged[],
  { segment, period, paid, counters }: Pick<Charge, 'segment' | 'period' | 'paid' | 'counters'>,
  amount: USD,
): readonly Charged[] {
  const sameCounters = (one: Charged): boolean => one.counters?.join() === counters.join();
  const i = charged.findIndex(
    (one) => one.segment === segment && one.period === period && (one.paid ?? false) === paid && sameCounters(one),
  );
  const amountUSD = amount.plus(charged[i]?.amountUSD ?? '0').toFixed();
  const sum: Charged = { segment, period, amountUSD, counters, ...(paid && { paid: true as const }) };
  return i < 0 ? [...charged, sum] : charged.with(i, sum);
}

/** Where it was charged, and where a Budget that was made since began with it. */
function giveBack(
  hold: Hold,
  { segment, period, amountUSD, paid, counters = countersIn(hold, period) }: Charged,
  budgets: readonly StandingBudget[],
): Charge {
  const amount = new USD(amountUSD);
  return {
    ...{ segment, period, amountUSD: amount.negated(), coveredUSD: amount, paid: paid ?? false },
    counters: withOpenings(counters, hold.payer, period, budgets),
  };
}
