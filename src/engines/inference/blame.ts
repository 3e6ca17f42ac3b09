/**
 * Whether a failure speaks against a route, or against who caused it: while others are served by the same route, what fails for one tenant alone
 * is taken for the fault of its requests, so that nobody can make a model cool for all. A route that is really down serves no others either.
 *
 * I10: the last outcome of MOST_TENANTS tenants; the oldest is forgotten.
 */
import type { RouteOutcome } from './health.js';

const MOST_TENANTS = 64;
/** Of what is older nothing is known any more (ms). */
const RECENT_MS = 10_000;

/** The last outcome of each tenant, the oldest first. */
export type LastOutcomes = Map<string, { readonly at: number; readonly served: boolean }>;

/** The outcome as the route's health is to hear it. Notes it for those of others. */
export function judged(last: LastOutcomes, tenant: string, outcome: RouteOutcome, now: number): RouteOutcome {
  const isFault = outcome.is === 'Failed' && outcome.cause === 'Failing';
  if (outcome.is !== 'Whole' && outcome.is !== 'Failed') return outcome;
  last.delete(tenant);
  last.set(tenant, { at: now, served: outcome.is === 'Whole' });
  const [oldest] = last.keys();
  if (last.size > MOST_TENANTS && oldest !== undefined) last.delete(oldest);
  if (!isFault) return outcome;
  const othersAreServed = [...last].some(
    ([other, { at, served }]) => other !== tenant && served && now - at < RECENT_MS,
  );
  return othersAreServed ? { is: 'Refused' } : outcome;
}
