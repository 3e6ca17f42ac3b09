/**
 * A route: one model at one upstream, and how it stands: for all, and for tenants whose requests alone have failed (`blame.ts`). Nothing else
 * changes in it.
 *
 * I10: MOST_TENANTS tenants are remembered; the one that asked longest ago is forgotten.
 */
import { heldAgainst, type LastOutcome } from './blame.js';
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
  /** Worse than that of all, where what failed is held against this tenant alone. */
  health: RouteHealth;
  last: LastOutcome | undefined;
}

const MOST_TENANTS = 64;

/** What servers of either dialect understand as a rule. */
export const USUAL_FORM: ModelForm = { maxTokensMember: 'max_tokens', thinking: 'budget' };

export function newRoute(upstream: Upstream, as: string, priority = 0, weight = 1, form = USUAL_FORM): Route {
  return { upstream, as, form, priority, weight, health: HEALTHY, tenants: new Map() };
}

/** How it stands for this tenant: the health by which it rests longer. */
export function healthFor({ health, tenants }: Route, tenant: string, now: number): RouteHealth {
  const own = tenants.get(tenant)?.health;
  if (own?.is !== 'Cooling' || standingAt(health, now) === 'Cooling') return health;
  return own;
}

/** To be called for each outcome of an admitted request. */
export type Report = (outcome: RouteOutcome, now: number) => void;

/** Undefined: it cools. An upstream without a probe always answers: what fails there is what the client asked for. */
export function enter(route: Route, tenant: string, now: number): Report | undefined {
  if (route.upstream.probe === undefined) return () => undefined;
  const own = tenantOf(route, tenant);
  const forAll = admit(route.health, now);
  const forOwn = admit(own.health, now);
  if (forAll === undefined || forOwn === undefined) return undefined;
  route.health = forAll;
  own.health = forOwn;
  return (outcome, at) => {
    const others = [...route.tenants].flatMap(([name, { last }]) => (name === tenant || !last ? [] : [last]));
    const against = heldAgainst(outcome, others, at);
    // The upstream has answered, at least; and what all share is not counted twice.
    const [all, alone]: readonly [RouteOutcome, RouteOutcome] =
      against === 'TenantAlone' ? [{ is: 'Refused' }, outcome] : [outcome, isGood(outcome) ? outcome : { is: 'Left' }];
    route.health = report(route.health, forAll.epoch, all, at);
    own.health = report(own.health, forOwn.epoch, alone, at);
    if (saysSomething(outcome)) own.last = { at, served: outcome.is === 'Whole' };
  };
}

function tenantOf({ tenants }: Route, tenant: string): RouteOfTenant {
  const known = tenants.get(tenant) ?? { health: HEALTHY, last: undefined };
  tenants.delete(tenant);
  tenants.set(tenant, known);
  const [oldest] = tenants.keys();
  if (tenants.size > MOST_TENANTS && oldest !== undefined) tenants.delete(oldest);
  return known;
}

function isGood({ is }: RouteOutcome): boolean {
  return is === 'Opened' || is === 'Whole' || is === 'Refused';
}

function saysSomething({ is }: RouteOutcome): boolean {
  return is !== 'Opened' && is !== 'Refused' && is !== 'Left';
}
