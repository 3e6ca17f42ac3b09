/**
 * Owns which Models something serves, and how that reads in a Model's status. Pure. The routes of inference and their
 * upstreams are not built yet: until they are, nothing serves any Model, the local `echo` neither.
 */
import type { ModelStatus } from './schema.js';

/** Names of the Models that a route serves. */
const SERVED: ReadonlySet<string> = new Set();

/** `since`: RFC 3339. */
export function availability(name: string, since: string): ModelStatus {
  const available = SERVED.has(name);
  const conditions = ['Ready', 'Available'].map((type) => ({
    type,
    status: available ? ('True' as const) : ('False' as const),
    lastTransitionTime: since,
    reason: available ? 'Served' : 'UpstreamUnavailable',
    message: available ? 'a route serves this model' : 'no route serves this model',
  }));
  return { available, conditions, phase: available ? 'Ready' : 'Pending' };
}
