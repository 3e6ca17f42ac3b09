/**
 * Whom a failure of a route is held against: all who use it, or only the tenant whose request it was. A request can make an upstream fail by
 * what it says (a vendor's 403 and 429 for one content, a server's 500), and nobody may make a model rest for others. So what fails for one
 * tenant alone, while others are known to have been served, makes the route rest for that tenant, and for all as soon as a second tenant meets
 * with failure and none is served. A route that is really down fails for the second one too. Pure.
 *
 * What no request can cause is held against the route at once: no connection, a refused key.
 */
import type { RouteOutcome } from './health.js';

/** A tenant's last outcome that says something about the route. */
export interface LastOutcome {
  readonly at: number;
  readonly served: boolean;
}

/** While another one was served so lately (ms), the route serves. */
const SERVES_MS = 10_000;
/** And so long (ms) it is believed to, unless another one has failed in the last FAILS_MS. */
const KNOWN_MS = 600_000;
const FAILS_MS = 60_000;

export function heldAgainst(outcome: RouteOutcome, others: readonly LastOutcome[], now: number): 'All' | 'TenantAlone' {
  if (!mayBeByRequest(outcome)) return 'All';
  const within = (served: boolean, ms: number): boolean =>
    others.some((last) => last.served === served && now - last.at < ms);
  return within(true, SERVES_MS) || (within(true, KNOWN_MS) && !within(false, FAILS_MS)) ? 'TenantAlone' : 'All';
}

function mayBeByRequest(outcome: RouteOutcome): boolean {
  switch (outcome.is) {
    case 'Failed':
      return outcome.cause === 'Failing';
    case 'Limited':
    case 'Forbidden':
      return true;
    case 'Opened':
    case 'Whole':
    case 'KeyRefused':
    case 'Refused':
    case 'Left':
      return false;
  }
}
