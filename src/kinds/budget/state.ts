/** What a Budget keeps beside its status: the ledger's figures and notices by period, and refusals that no event has told of. Pure. */
import { monthOf, periodEnd, periodOf } from '../../money/counters.js';
import type { USD } from '../../money/usd.js';
import type { SpendFigures } from '../object-message.js';
import type { SpendMark } from './runway.js';
import type { BudgetSpec } from './schema.js';

export interface Figures extends SpendFigures {
  /** Of the counter: an older one is late. */
  readonly revision: number;
}

export interface BudgetPrivate {
  /** Of the current period and those beside it: next month's figures may come before the month does. */
  readonly figures: readonly Figures[];
  readonly notified: readonly { readonly period: string; readonly thresholds: readonly number[] }[];
  /** A hold was refused while no more than this was left: until more is, nothing was freed. */
  readonly refusedAtUSD?: string | undefined;
  /** The same by the ledger itself, until the figures of that moment are known here: those of before say that more was left. */
  readonly refusedByLedgerAtUSD?: string | undefined;
  /** For the rate of the last day. */
  readonly marks?: readonly SpendMark[] | undefined;
  /** Of the latest budget.exceeded: when (ms), and how many refusals came since. */
  readonly exceeded?: { readonly time: number; readonly since: number } | undefined;
}

export const NO_STATE: BudgetPrivate = { figures: [], notified: [] };

/** Periods that are remembered: the one before, this one, and the next. */
const MOST_PERIODS = 3;

/** With these figures in place of older ones of their period. Undefined: they are older than what is known. */
export function withFigures(state: BudgetPrivate, figures: Figures): BudgetPrivate | undefined {
  const before = figuresOf(state, figures.period);
  if (before !== undefined && before.revision >= figures.revision) return undefined;
  return { ...state, figures: newest([...without(state.figures, figures.period), figures]) };
}

/** Once more is left than when a hold was refused, the refusal is over, and less being left again is no refusal. */
export function withoutFreed(state: BudgetPrivate, remaining: USD): BudgetPrivate {
  const { refusedAtUSD, refusedByLedgerAtUSD: _, ...rest } = state;
  return refusedAtUSD === undefined || remaining.lte(refusedAtUSD) ? state : rest;
}

/** The figures of the moment of the refusal are known by now. */
export function withKnownRefusal(state: BudgetPrivate): BudgetPrivate {
  const { refusedByLedgerAtUSD, ...rest } = state;
  return refusedByLedgerAtUSD === undefined ? state : { ...rest, refusedAtUSD: refusedByLedgerAtUSD };
}

export function figuresOf({ figures }: BudgetPrivate, period: string): Figures | undefined {
  return figures.find((one) => one.period === period);
}

/** Undefined: its notice was given. */
export function withNotice(state: BudgetPrivate, period: string, threshold: number): BudgetPrivate | undefined {
  const before = noticesOf(state, period);
  if (before.includes(threshold)) return undefined;
  const thresholds = [...before, threshold].toSorted((a, b) => a - b);
  return { ...state, notified: newest([...without(state.notified, period), { period, thresholds }]) };
}

export function noticesOf({ notified }: BudgetPrivate, period: string): readonly number[] {
  return notified.find((one) => one.period === period)?.thresholds ?? [];
}

function without<One extends { readonly period: string }>(list: readonly One[], period: string): readonly One[] {
  return list.filter((one) => one.period !== period);
}

function newest<One extends { readonly period: string }>(list: readonly One[]): readonly One[] {
  return list.toSorted((a, b) => (a.period < b.period ? -1 : 1)).slice(-MOST_PERIODS);
}

export interface CurrentPeriod {
  /** As a counter's name has it. */
  readonly period: string;
  /** ms. */
  readonly start: number;
  /** First ms behind it; undefined: it has no end. */
  readonly end: number | undefined;
}

/** `created` and `now` in ms. */
export function currentPeriod({ period }: Pick<BudgetSpec, 'period'>, created: number, now: number): CurrentPeriod {
  const name = periodOf(period, now);
  if (period === 'Total') return { period: name, start: created, end: undefined };
  return { period: name, start: Date.parse(`${monthOf(now)}-01T00:00:00Z`), end: periodEnd(now) };
}
