/**
 * What a Job runs, as far as it has a price; also the Job of a cell or a stage. Each index is expected to run for `expectedDuration` (p50) or
 * twice that (p90), and no longer than `timeout` leaves it: the timeout of the Job, shared out among its indexes. With a timeout only, p90 is
 * all of that time and p50 half. Pure.
 */
import { parseDuration } from '../../api/duration.js';
import { likenessOf, type ExpectedTime, type LikeProgram, type PricedPart } from '../priced-work.js';
import { limitsOf } from '../shapes/resources.js';
import type { JobSpec } from './schema.js';

type Timed = Pick<JobSpec, 'expectedDuration' | 'timeout' | 'activeDeadlineSeconds' | 'completions' | 'parallelism'>;

type Priced = Timed & Pick<JobSpec, 'resources' | 'placement' | 'maxCostUSD'> & LikeProgram;

/** `at`: where the spec stands; `capAt`: where its cap does. */
export function jobPart(spec: Priced, at: string, capAt = at): PricedPart {
  const { resources, placement, completions, image, maxCostUSD } = spec;
  const amounts = limitsOf(resources);
  return {
    ...{ at, amounts, placement, image, runs: completions, atOnce: atOnce(spec) },
    ...{ expected: expectedTime(spec), most: boundOf(spec), like: likenessOf('Job', spec, amounts) },
    cap: maxCostUSD === undefined ? undefined : { at: capAt, maxCostUSD },
  };
}

function atOnce({ completions, parallelism }: Timed): number {
  return Math.min(completions, parallelism);
}

function expectedTime(spec: Timed): ExpectedTime | undefined {
  const expected = spec.expectedDuration === undefined ? undefined : parseDuration(spec.expectedDuration);
  const bound = boundOf(spec);
  if (expected === undefined) return bound === undefined ? undefined : { p50: Math.ceil(bound / 2), p90: bound };
  const most = bound ?? Number.POSITIVE_INFINITY;
  return { p50: Math.min(expected, most), p90: Math.min(expected * 2, most) };
}

/** What the timeout leaves each index (ms). */
function boundOf(spec: Timed): number | undefined {
  const { timeout, activeDeadlineSeconds, completions } = spec;
  const whole = timeout === undefined ? activeDeadlineSeconds && activeDeadlineSeconds * 1000 : parseDuration(timeout);
  return whole === undefined ? undefined : Math.ceil((whole * atOnce(spec)) / completions);
}
