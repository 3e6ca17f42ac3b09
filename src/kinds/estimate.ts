/**
 * What work would cost and where it would run, by today's price book. `costUSD` is what the work costs when nothing fails and nothing is
 * lost; how long it runs is how long like work has run (`run-times.ts`), else what its spec expects (`PricedPart.expected`). Pure, exact. Source: spec, "Conventions" 6; decisions, "Money".
 */
import { MAX_CAUSES } from '../api/causes.js';
import { causeLine } from '../api/errors/cause-line.js';
import { ERROR_TABLE } from '../api/errors/table.js';
import { formatDuration } from '../api/duration.js';
import type { ApiObject } from '../api/object.js';
import type { Cause, Refusal } from '../api/refusal.js';
import { rfc3339 } from '../api/time.js';
import { FREE_BOOK, type PriceBook } from '../money/price-book.js';
import { firstAmount } from '../money/hold.js';
import { priceOfTime, timeAtRate } from '../money/terms.js';
import { showUSD, USD } from '../money/usd.js';
import { admitTerms, type AdmittedTerms } from './attempts/terms.js';
import { LOCAL_OFFERING, LOCAL_REGION, LOCAL_STARTUP, LOCAL_TEARDOWN_MS } from './offering/local.js';
import { isCatalogImage } from './image/catalog.js';
import type { PricedPart, PricedWork } from './priced-work.js';
import { measure, type MeasuredTime, type Run } from './run-times.js';
import type { Estimate } from './shapes/status.js';

/** How long an estimate stands unchanged. */
const VALID_MS = 15 * 60_000;
/** With this reason work fails that no Node can take. */
const NO_CAPACITY = 'CapacityUnavailable';

/** Of a plan that does not say how long its work runs, where no like work has ended. */
const DURATION_UNKNOWN = 'DurationUnknown';
/** Of a plan of which so little like work has ended that percentiles say little. */
const LITTLE_HISTORY = 'LittleHistory';
const ENOUGH_RUNS = 5;
/** Of a plan whose image may have to be fetched first: none of the catalog, and nothing like it has run. */
const COLD_START = 'ColdStart';

type Percentile = 'p50' | 'p90';

/** Terms, and the amounts that follow from them alone. */
interface PricedTerms {
  readonly terms: AdmittedTerms;
  readonly rate: USD;
  readonly hold: USD;
  /** Of one start and teardown. */
  readonly overhead: Readonly<Record<Percentile, USD>>;
}

/** Like work has ended: this is how long it took. */
interface MeasuredPart extends PricedPart {
  readonly measured?: MeasuredTime | undefined;
}

interface Priced extends MeasuredPart, PricedTerms {}

/** What is known of like work (`PricedPart.like`) in the project of the object. Reads memory alone. */
export type RunsOf = (like: string) => readonly Run[] | undefined;

/** Most work asks for what other work has asked for, and every create is estimated. Full: forgotten at once (I10). */
const MOST_KNOWN = 256;
const known = new WeakMap<PriceBook, Map<string, PricedTerms>>();

function termsFor({ amounts }: PricedPart, prices: PriceBook = FREE_BOOK): PricedTerms {
  const of = known.get(prices) ?? new Map<string, PricedTerms>();
  known.set(prices, of);
  const key = `${amounts.milliCpu}/${amounts.memory}`;
  let found = of.get(key);
  if (found === undefined) {
    const terms = admitTerms(amounts, prices);
    const overhead = (percentile: Percentile): USD => timeAtRate(terms, overheadMs(percentile));
    found = {
      ...{ terms, rate: new USD(terms.rateUSDPerHour), hold: firstAmount(terms) },
      overhead: { p50: overhead('p50'), p90: overhead('p90') },
    };
    if (of.size >= MOST_KNOWN) of.clear();
    of.set(key, found);
  }
  return found;
}

/** Estimates of single plans, which most creates have in common; the same bound. */
const estimated = new WeakMap<PriceBook, Map<string, Omit<Estimate, 'validUntil'>>>();

/** `now` in ms. */
export function estimateWork(
  plan: PricedWork,
  prices: PriceBook | undefined,
  now: number,
  runsOf: RunsOf = () => undefined,
): Estimate {
  const validUntil = rfc3339(now + VALID_MS);
  const work = { ...plan, parts: plan.parts.map((part) => measuredPart(part, runsOf)) };
  if (work.parts.length !== 1) return { ...compute(work, prices), validUntil };
  const of = estimated.get(prices ?? FREE_BOOK) ?? new Map<string, Omit<Estimate, 'validUntil'>>();
  estimated.set(prices ?? FREE_BOOK, of);
  const key = JSON.stringify(work);
  let found = of.get(key);
  if (found === undefined) {
    found = compute(work, prices);
    if (of.size >= MOST_KNOWN) of.clear();
    of.set(key, found);
  }
  return { validUntil, ...found };
}

/** Without its likeness and its cap, which would make each estimate a new one. */
function measuredPart(whole: PricedPart, runsOf: RunsOf): MeasuredPart {
  const { like, cap: _, ...part } = whole;
  const runs = like === undefined ? undefined : runsOf(like);
  return runs === undefined ? part : { ...part, measured: measure(runs, part.most) };
}

interface MeasuredWork {
  readonly parts: readonly MeasuredPart[];
  readonly partsAtOnce?: number | undefined;
}

function compute({ parts, partsAtOnce }: MeasuredWork, prices: PriceBook | undefined): Omit<Estimate, 'validUntil'> {
  const priced = parts.map((part): Priced => ({ ...part, ...termsFor(part, prices) }));
  /** The largest that can be together at the same time. */
  const together = (of: (part: Priced) => USD): USD =>
    sum(
      priced
        .map((part) => of(part).times(part.atOnce))
        .toSorted((one, other) => other.comparedTo(one))
        .slice(0, partsAtOnce ?? 1),
    );
  const all = (of: (part: Priced) => USD): string => showUSD(sum(priced.map(of)));
  const largest = (of: (part: Priced) => USD): USD => USD.max(0, ...priced.map(of));
  return {
    concurrentHoldUSD: showUSD(together(({ hold }) => hold)),
    costUSD: { p50: all((part) => costOf(part, 'p50')), p90: all((part) => costOf(part, 'p90')) },
    holdUSD: showUSD(largest(({ hold }) => hold)),
    minimumChargeUSD: all(({ terms, runs }) => new USD(terms.minimumUSD).times(runs)),
    overheadUSD: {
      p50: all((part) => overheadOf(part, 'p50')),
      p90: all((part) => overheadOf(part, 'p90')),
    },
    placementPreview: previewOf(priced, prices),
    pricebookVersion: priced[0]?.terms.pricebookVersion,
    rateUSDPerHour: showUSD(partsAtOnce === undefined ? largest(({ rate }) => rate) : together(({ rate }) => rate)),
    startup: {
      cold: { p50: longestBoot(priced, 'p50'), p90: longestBoot(priced, 'p90') },
      warm: { p50: formatDuration(LOCAL_STARTUP.warm.p50), p90: formatDuration(LOCAL_STARTUP.warm.p90) },
    },
    warnings: warningsOf(priced),
  };
}

/** Each for the first part that it is true of. */
function warningsOf(parts: readonly Priced[]): NonNullable<Estimate['warnings']> {
  const unknown = parts.find(({ expected, measured }) => expected === undefined && measured === undefined);
  const cold = parts.find(
    ({ image, measured }) => image !== undefined && !isCatalogImage(image) && measured === undefined,
  );
  const little = parts.find(({ measured }) => measured !== undefined && measured.count < ENOUGH_RUNS);
  return [
    ...(unknown === undefined
      ? []
      : [
          {
            code: DURATION_UNKNOWN,
            message: `${unknown.at} says neither expectedDuration nor timeout: costUSD counts the least time that is held for each run`,
          },
        ]),
    ...(cold === undefined
      ? []
      : [
          {
            code: COLD_START,
            message: `image ${cold.image ?? ''} may have to be fetched first, which takes longer than startup.cold says`,
          },
        ]),
    ...(little === undefined
      ? []
      : [
          {
            code: LITTLE_HISTORY,
            message: `costUSD takes how long ${little.at} runs from ${runsSaid(little.measured?.count ?? 0)}`,
          },
        ]),
  ];
}

function runsSaid(count: number): string {
  return count === 1 ? 'one run of like work, all that there is' : `${count} runs of like work, all that there are`;
}

function overheadOf({ terms, runs, overhead, measured }: Priced, percentile: Percentile): USD {
  const one = measured === undefined ? overhead[percentile] : timeAtRate(terms, measured.overhead[percentile]);
  return one.times(runs);
}

function longestBoot(parts: readonly Priced[], percentile: Percentile): string {
  const measured = parts.flatMap((part) => part.measured?.boot[percentile] ?? []);
  const all = measured.length === parts.length ? measured : [...measured, LOCAL_STARTUP.cold[percentile]];
  return formatDuration(Math.max(0, ...all));
}

function sum(amounts: readonly USD[]): USD {
  return amounts.reduce((total, amount) => total.plus(amount), new USD(0));
}

function overheadMs(percentile: Percentile): number {
  return LOCAL_STARTUP.cold[percentile] + LOCAL_TEARDOWN_MS;
}

function costOf({ terms, runs, expected, measured }: Priced, percentile: Percentile): USD {
  const whole = measured?.whole[percentile] ?? (expected?.[percentile] ?? terms.unitMs) + overheadMs(percentile);
  return priceOfTime(terms, whole).times(runs);
}

/** Without an Offering: the work is refused, or would never run. */
function previewOf(parts: readonly Priced[], prices: PriceBook | undefined): NonNullable<Estimate['placementPreview']> {
  const rejected = parts.flatMap((part) => {
    const why = tooDear(part, prices);
    return why === undefined ? [] : [{ offeringClass: LOCAL_OFFERING, reason: `${part.at}: ${why}` }];
  });
  if (rejected.length > 0) return { explain: { rejected: rejected.slice(0, MOST_REJECTED) } };
  const sizes = new Set(parts.map((part) => `${sizeOf(part)} at ${part.terms.rateUSDPerHour} USD per hour`));
  const [size, ...others] = sizes;
  return {
    explain: {
      profile: parts[0]?.placement?.profile ?? 'Balanced',
      reason: `the only Offering that runs work here; each Attempt has ${size ?? 'nothing'}${others.length === 0 ? '' : ', others have other amounts'}`,
    },
    interruptible: false,
    offering: LOCAL_OFFERING,
    regionClass: LOCAL_REGION,
    warmReuse: false,
  };
}

const MOST_REJECTED = 20;

function sizeOf({ amounts: { milliCpu, memory } }: PricedPart): string {
  return `${milliCpu / 1000} CPU and ${Math.round((memory / 2 ** 30) * 1000) / 1000} GiB of memory`;
}

/** Why its rate is not accepted; undefined: it is. */
function tooDear(part: PricedPart, prices: PriceBook | undefined): string | undefined {
  const most = part.placement?.maxRateUSDPerHour;
  if (most === undefined) return undefined;
  const { rate, terms } = termsFor(part, prices);
  if (rate.lte(most)) return undefined;
  return `the rate is ${terms.rateUSDPerHour} USD per hour, above the ${most} that is accepted at most`;
}

/**
 * Refuses work whose rate is above `placement.maxRateUSDPerHour`: the rate is that of the amounts it asks for and is fixed when it is
 * created, so waiting would not change it.
 */
export function refuseRate(
  { parts }: PricedWork,
  prices: PriceBook | undefined,
  target: NonNullable<Refusal['target']>,
): Refusal | undefined {
  /** Of the parts that are written in one place, the first that costs too much. */
  const found = new Map<string, Cause>();
  for (const part of parts) {
    const message = tooDear(part, prices);
    const field = `${part.at}.placement.maxRateUSDPerHour`;
    if (message !== undefined && !found.has(field))
      found.set(field, { field, reason: 'PriceConsentRequired', message });
  }
  const causes = [...found.values()].slice(0, MAX_CAUSES);
  if (causes.length === 0) return undefined;
  return {
    code: 'PriceConsentRequired',
    message: `${target.kind} "${target.name}" costs more than it accepts: ${causes.map(causeLine).join('; ')}`,
    causes,
    fix: 'Raise placement.maxRateUSDPerHour, or ask for less CPU and memory in resources.',
    target,
  };
}

/** What stands against new work. */
export interface Obstacles {
  /** A real create is refused with these. */
  readonly refusals?: readonly (Refusal | undefined)[];
  /** It would be created, and no Node has what it asks for. */
  readonly neverFits?: readonly string[] | undefined;
}

/** Says it in the estimate of a new object, which then names no offering. An object without an estimate stays as it is. */
export function obstruct(object: ApiObject, { refusals = [], neverFits = [] }: Obstacles): ApiObject {
  const status = object.status as { readonly estimate?: Estimate } | undefined;
  if (status?.estimate === undefined) return object;
  const reasons = refusals.flatMap((refusal) => (refusal === undefined ? [] : reasonsOf(refusal)));
  if (reasons.length === 0 && neverFits.length === 0) return object;
  const { placementPreview, ...estimate } = status.estimate;
  // What is against the only placement is still said.
  const explain = placementPreview?.offering === undefined ? placementPreview : undefined;
  const obstructed: Estimate = {
    ...estimate,
    ...(explain === undefined ? {} : { placementPreview: explain }),
    ...(reasons.length === 0 ? {} : { blockingReasons: [...(estimate.blockingReasons ?? []), ...reasons] }),
    warnings: [...neverFits.map((message) => ({ code: NO_CAPACITY, message })), ...(estimate.warnings ?? [])],
  };
  return { ...object, status: { ...status, estimate: obstructed } };
}

/** One for each field, in the words of the refusal. */
function reasonsOf({
  code,
  message,
  causes = [],
  fix = ERROR_TABLE[code].fix,
}: Refusal): NonNullable<Estimate['blockingReasons']> {
  if (causes.length === 0) return [{ code, message, fix }];
  return causes.map((cause) => ({ code, message: causeLine(cause), fix }));
}
