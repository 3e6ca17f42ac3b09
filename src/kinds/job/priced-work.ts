/**
 * What a Job runs, as far as it has a price; also the Job of a cell or a stage. Each index is expected to run for `expectedDuration` (p50) or
 * twice that (p90), and no longer than `timeout` leaves it: the timeout of the Job, shared out among its indexes. With a timeout only, p90 is
 * all of that time and p50 half. Pure.
 */
import { parseDuration } from '../../api/duration.js';
import type { ExpectedTime, PricedPart } from '../priced-work.js';
import { limitsOf } from '../shapes/resources.js';
import type { JobSpec } from './schema.js';

type Timed = Pick<JobSpec, 'expectedDuration' | 'timeout' | 'activeDeadlineSeconds' | 'completions' | 'parallelism'>;

/** `at`: where the spec stands. */
export function jobPart(spec: Timed & Pick<JobSpec, 'resources' | 'placement'>, at: string): PricedPart {
  const { resources, placement, completions } = spec;
  return {
    at,
    amounts: limitsOf(resources),
    placement,
    runs: completions,
    atOnce: atOnce(spec),
    expected: expectedTime(spec),
  };
}

function atOnce({ completions, parallelism }: Timed): number {
  return Math.min(completions, parallelism);
}

function expectedTime(spec: Timed): ExpectedTime | undefined {
  const { expectedDuration, timeout, activeDeadlineSeconds, completions } = spec;
  const expected = expectedDuration === undefined ? undefined : parseDuration(expectedDuration);
  const whole = timeout === undefined ? activeDeadlineSeconds && activeDeadlineSeconds * 1000 : parseDuration(timeout);
  if (expected === undefined && whole === undefined) return undefined;
  const bound = whole === undefined ? Number.POSITIVE_INFINITY : Math.ceil((whole * atOnce(spec)) / completions);
  if (expected === undefined) return { p50: Math.ceil(bound / 2), p90: bound };
  return { p50: Math.min(expected, bound), p90: Math.min(expected * 2, bound) };
}
