/**
 * In which order the routes of a model are tried: by priority, and within one priority at random by weight. One that cools is not tried; one
 * that has cooled takes its usual turn, by one request (`health.ts`), so that it comes back while others serve. Pure.
 */
import { standingAt, type RouteHealth } from './health.js';

export interface Choice {
  /** Lower ones first. */
  readonly priority: number;
  /** Share among those of the same priority, from 1. */
  readonly weight: number;
  readonly health: RouteHealth;
}

/** `random`: from 0 to below 1, called once for each place that is drawn. */
export function choose<T extends Choice>(routes: readonly T[], now: number, random: () => number): readonly T[] {
  const left = routes.filter(({ health }) => standingAt(health, now) !== 'Cooling');
  if (left.length < 2) return left;
  const order: T[] = [];
  for (let next = draw(left, random); next !== undefined; next = draw(left, random)) order.push(next);
  return order;
}

/** Takes one of the lowest priority out of `left`. */
function draw<T extends Choice>(left: T[], random: () => number): T | undefined {
  const priority = Math.min(...left.map((route) => route.priority));
  const peers = left.filter((route) => route.priority === priority);
  const sum = peers.reduce((total, { weight }) => total + weight, 0);
  let at = peers.length > 1 ? random() * sum : 0;
  const drawn = peers.find(({ weight }) => (at -= weight) < 0) ?? peers.at(-1);
  if (drawn !== undefined) left.splice(left.indexOf(drawn), 1);
  return drawn;
}
