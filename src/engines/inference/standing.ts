/** Whether a model can be served now, in words for people; no names of hosts or upstreams. Pure. */
import type { Reach } from './probes.js';
import { isResting, type Route } from './route.js';
import type { ModelStanding } from './router.js';

/** Of `routes`, those of the model. An upstream of which nothing is known yet counts as one that serves. */
export function standingOf(
  model: string,
  routes: readonly Route[],
  reached: ReadonlyMap<string, Reach>,
  now: number,
): ModelStanding {
  const silent = routes.filter(({ upstream }) => reached.get(upstream.name) === 'No').length;
  const serving = routes.filter((route) => reached.get(route.upstream.name) !== 'No' && !isResting(route, now)).length;
  return { model, available: serving > 0, message: messageOf(serving, routes.length, silent) };
}

function messageOf(serving: number, all: number, silent: number): string {
  if (all === 1) {
    if (serving === 1) return 'Its upstream serves it.';
    return `Its upstream ${silent === 1 ? 'does not answer' : 'has failed and rests'}; it is tried again by itself.`;
  }
  if (serving > 0) return `${serving} of its ${all} upstreams serve it.`;
  const why = [silent > 0 && `${silent} do not answer`, silent < all && `${all - silent} have failed and rest`];
  return `None of its ${all} upstreams serves it now (${why.filter(Boolean).join(', ')}); they are tried again by themselves.`;
}
