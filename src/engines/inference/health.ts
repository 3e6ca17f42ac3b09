/**
 * How one route, a model at an upstream, stands, for all or for one tenant: it is up, or it cools until a time and is then tried by one
 * request. Pure.
 *
 * - Failures count: no connection, time-outs, 5xx, redirects, streams that break. Three in a row, or more than half of the last 20
 *   outcomes within 30 s, and it cools for 5 s; doubling up to 60 s until an answer comes whole.
 * - 429 cools for what `retry-after` says; a refused key or lacking credit of the operator for 60 s.
 * - What a client causes (400, 404, 413, 422, leaving) never cools.
 * - Each cooling begins an epoch. An outcome is reported with the epoch in which its request was admitted, and one of an earlier epoch
 *   changes nothing: many requests that fail together cool a route once.
 */

export const FAILURES_IN_A_ROW = 3;
const LAST_OUTCOMES = 20;
export const WINDOW_MS = 30_000;
export const FIRST_COOLING_MS = 5_000;
export const LONGEST_COOLING_MS = 60_000;
/** Of a 429 that says nothing. */
const LIMITED_MS = 5_000;
/** Of a 429 that says `0`: else it would be asked again at once, without end. */
const SHORTEST_LIMITED_MS = 1_000;
const KEY_REFUSED_MS = 60_000;
/** Longer than the pause between probes: while they fail, no request has to try. */
const AFTER_BAD_PROBE_MS = 20_000;

/** Unreachable: no connection. Failing: it answers wrongly, or not in time. */
export type CoolingCause = 'Unreachable' | 'Failing' | 'Limited' | 'KeyRefused';

/** The `nth` outcome was a failure. */
interface Failure {
  readonly nth: number;
  readonly at: number;
}

export type RouteHealth =
  | {
      readonly is: 'Up';
      readonly epoch: number;
      /** Failures since the last whole answer. */
      readonly streak: number;
      /** Outcomes that counted. */
      readonly outcomes: number;
      /** At most the last 20. */
      readonly failures: readonly Failure[];
      /** How long the next cooling by failures lasts. */
      readonly nextMs: number;
    }
  | {
      readonly is: 'Cooling';
      readonly epoch: number;
      readonly cause: CoolingCause;
      readonly until: number;
      /** A request is trying it. */
      readonly trial: boolean;
      readonly nextMs: number;
    };

export type RouteOutcome =
  /** The head of an answer is there, with a 2xx. */
  | { readonly is: 'Opened' }
  /** The answer has come to its own end. */
  | { readonly is: 'Whole' }
  | { readonly is: 'Failed'; readonly cause: 'Unreachable' | 'Failing' }
  | { readonly is: 'Limited'; readonly retryAfterMs: number | undefined }
  | { readonly is: 'KeyRefused' }
  /** It has answered, and refused this very request. */
  | { readonly is: 'Refused' }
  /** Nothing was learnt: the client has left, or the upstream was not asked. */
  | { readonly is: 'Left' };

export const HEALTHY: RouteHealth = {
  is: 'Up',
  epoch: 0,
  streak: 0,
  outcomes: 0,
  failures: [],
  nextMs: FIRST_COOLING_MS,
};

/** Trial: it has cooled, and one request may try it. */
export function standingAt(health: RouteHealth, now: number): 'Up' | 'Trial' | 'Cooling' {
  if (health.is === 'Up') return 'Up';
  return now >= health.until && !health.trial ? 'Trial' : 'Cooling';
}

/** For a request that is to be sent now; undefined: it cools. Who is admitted reports an outcome, in any case. */
export function admit(health: RouteHealth, now: number): RouteHealth | undefined {
  const standing = standingAt(health, now);
  if (standing === 'Cooling') return undefined;
  return health.is === 'Cooling' ? { ...health, trial: true } : health;
}

/** `epoch`: of the health that `admit` has answered. */
export function report(health: RouteHealth, epoch: number, outcome: RouteOutcome, now: number): RouteHealth {
  if (epoch !== health.epoch) return health;
  switch (outcome.is) {
    case 'Left':
      return health.is === 'Up' ? health : { ...health, trial: false };
    case 'Opened':
    case 'Refused':
      return health.is === 'Up' ? health : onProbation(health);
    case 'Whole': {
      const outcomes = health.is === 'Up' ? health.outcomes + 1 : 1;
      const failures = health.is === 'Up' ? health.failures : [];
      return { is: 'Up', epoch, streak: 0, outcomes, failures, nextMs: FIRST_COOLING_MS };
    }
    case 'Limited': {
      const asked = outcome.retryAfterMs ?? LIMITED_MS;
      const ms = Math.min(Math.max(asked, SHORTEST_LIMITED_MS), LONGEST_COOLING_MS);
      return cooling(health, 'Limited', now + ms);
    }
    case 'KeyRefused':
      return cooling(health, 'KeyRefused', now + KEY_REFUSED_MS);
    case 'Failed':
      return failed(health, outcome.cause, now);
  }
}

/** What a probe of the whole upstream says about a route that cools because nothing answered; others learn nothing from it. */
export function probed(health: RouteHealth, answers: boolean, now: number): RouteHealth {
  if (health.is === 'Up' || health.cause !== 'Unreachable' || health.trial) return health;
  return answers ? onProbation(health) : { ...health, until: Math.max(health.until, now + AFTER_BAD_PROBE_MS) };
}

function failed(health: RouteHealth, cause: 'Unreachable' | 'Failing', now: number): RouteHealth {
  const again = {
    ...cooling(health, cause, now + health.nextMs),
    nextMs: Math.min(health.nextMs * 2, LONGEST_COOLING_MS),
  };
  if (health.is === 'Cooling') return again;
  const outcomes = health.outcomes + 1;
  const streak = health.streak + 1;
  const failures = [...health.failures, { nth: outcomes, at: now }].filter(
    ({ nth, at }) => nth > outcomes - LAST_OUTCOMES && at > now - WINDOW_MS,
  );
  if (streak >= FAILURES_IN_A_ROW || failures.length > LAST_OUTCOMES / 2) return again;
  return { ...health, streak, outcomes, failures };
}

function cooling({ epoch, nextMs }: RouteHealth, cause: CoolingCause, until: number): RouteHealth {
  return { is: 'Cooling', epoch: epoch + 1, cause, until, trial: false, nextMs };
}

/** It is up again; one more failure before an answer came whole, and it cools for twice as long. */
function onProbation({ epoch, nextMs }: RouteHealth): RouteHealth {
  return { is: 'Up', epoch, streak: FAILURES_IN_A_ROW - 1, outcomes: 0, failures: [], nextMs };
}
