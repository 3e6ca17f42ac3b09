/**
 * A route: one model at one upstream, and how it stands. What a request may have caused by what it asks for (an error, a silence, a broken
 * connection, a vendor's 402, 403 or 429) makes the route rest for the tenant alone whose request it was, since nobody may make a model rest for others: each
 * tenant learns for itself. What no request can cause, no connection, makes it rest for all.
 *
 * I10: MOST_TENANTS tenants are remembered; the one that asked longest ago is forgotten.
 */
import { admit, HEALTHY, report, standingAt, type RouteHealth, type RouteOutcome } from './health.js';
import type { ModelForm } from './dialects/translate.js';
import type { Upstream } from './upstream.js';

export interface Route {
  readonly upstream: Upstream;
  /** What the upstream calls the model. */
  readonly as: string;
  readonly form: ModelForm;
  readonly priority: number;
  readonly weight: number;
  /** For all. */
  health: RouteHealth;
  /** The one that asked longest ago first. */
  readonly tenants: Map<string, RouteOfTenant>;
}

interface RouteOfTenant {
  health: RouteHealth;
  /** ms. */
  askedAt: number;
}

const MOST_TENANTS = 1_024;
/** Who asked longer ago (ms) says nothing of how the route stands now. */
const LATELY_MS = 600_000;

/** What servers of either dialect understand as a rule. */
export const USUAL_FORM: ModelForm = { maxTokensMember: 'max_tokens', thinking: 'budget' };

export function newRoute(upstream: Upstream, as: string, priority = 0, weight = 1, form = USUAL_FORM): Route {
  return { upstream, as, form, priority, weight, health: HEALTHY, tenants: new Map() };
}

/** How it stands for this tenant. */
export function healthFor({ health, tenants }: Route, tenant: string, now: number): RouteHealth {
  const own = tenants.get(tenant)?.health;
  return own?.is !== 'Cooling' || standingAt(health, now) === 'Cooling' ? health : own;
}

/** Whether it rests for all who have asked lately. */
export function isResting({ health, tenants }: Route, now: number): boolean {
  if (standingAt(health, now) === 'Cooling') return true;
  const lately = [...tenants.values()].filter(({ askedAt }) => now - askedAt < LATELY_MS);
  return lately.length > 0 && lately.every((own) => standingAt(own.health, now) === 'Cooling');
}

/** To be called for each outcome of an admitted request. */
export type Report = (outcome: RouteOutcome, now: number) => void;

/** Undefined: it cools. An upstream without a probe always answers: what fails there is what the client asked for. */
export function enter(route: Route, tenant: string, now: number): Report | undefined {
  if (route.upstream.probe === undefined) return () => undefined;
  const own = tenantOf(route, tenant, now);
  const forAll = admit(route.health, now);
  const forOwn = admit(own.health, now);
  if (forAll === undefined || forOwn === undefined) return undefined;
  route.health = forAll;
  own.health = forOwn;
  return (outcome, at) => {
    const [all, alone] = heldAgainst(outcome);
    route.health = report(route.health, forAll.epoch, all, at);
    own.health = report(own.health, forOwn.epoch, alone, at);
  };
}

/** What the health of all hears, and that of the tenant. */
function heldAgainst(outcome: RouteOutcome): readonly [all: RouteOutcome, tenant: RouteOutcome] {
  const ofAll: readonly [RouteOutcome, RouteOutcome] = [outcome, { is: 'Left' }];
  // There was a connection, and so it is there.
  const ofTenant: readonly [RouteOutcome, RouteOutcome] = [{ is: 'Refused' }, outcome];
  switch (outcome.is) {
    case 'Failed':
      return outcome.cause === 'Unreachable' ? ofAll : ofTenant;
    case 'KeyRefused':
    case 'Limited':
      return ofTenant;
    case 'Opened':
    case 'Whole':
    case 'Refused':
    case 'Left':
      return [outcome, outcome];
  }
}

function tenantOf({ tenants }: Route, tenant: string, now: number): RouteOfTenant {
  const known = tenants.get(tenant) ?? { health: HEALTHY, askedAt: now };
  known.askedAt = now;
  tenants.delete(tenant);
  tenants.set(tenant, known);
  const [oldest] = tenants.keys();
  if (tenants.size > MOST_TENANTS && oldest !== undefined) tenants.delete(oldest);
  return known;
}
