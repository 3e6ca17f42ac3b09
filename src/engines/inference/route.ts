/** A route: one model at one upstream, and how it stands. The only thing that changes in it is its health. */
import { judged, type LastOutcomes } from './blame.js';
import { admit, HEALTHY, report, type RouteHealth, type RouteOutcome } from './health.js';
import type { ModelForm } from './dialects/translate.js';
import type { Upstream } from './upstream.js';

export interface Route {
  readonly upstream: Upstream;
  /** What the upstream calls the model. */
  readonly as: string;
  readonly form: ModelForm;
  readonly priority: number;
  readonly weight: number;
  health: RouteHealth;
  /** By tenant. */
  readonly last: LastOutcomes;
}

/** What servers of either dialect understand as a rule. */
export const USUAL_FORM: ModelForm = { maxTokensMember: 'max_tokens', thinking: 'budget' };

export function newRoute(upstream: Upstream, as: string, priority = 0, weight = 1, form = USUAL_FORM): Route {
  return { upstream, as, form, priority, weight, health: HEALTHY, last: new Map() };
}

/** To be called for each outcome of an admitted request. */
export type Report = (outcome: RouteOutcome, now: number) => void;

/** Undefined: it cools. An upstream without a probe always answers: what fails there is what the client asked for. */
export function enter(route: Route, tenant: string, now: number): Report | undefined {
  if (route.upstream.probe === undefined) return () => undefined;
  const admitted = admit(route.health, now);
  if (admitted === undefined) return undefined;
  route.health = admitted;
  return (outcome, at) => {
    route.health = report(route.health, admitted.epoch, judged(route.last, tenant, outcome, at), at);
  };
}
