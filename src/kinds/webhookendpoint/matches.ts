/** Which events an endpoint is sent. Pure. Source: spec, "Event types" and "WebhookEndpoint". */
import type { WebhookEndpointSpec } from './schema.js';

export interface EventOrigin {
  /** `job.failed`. */
  readonly event: string;
  /** Empty: an event of the org itself. */
  readonly project: string;
}

/** The test made ready for many events. A paused endpoint is sent none. */
export function matcherOf(spec: WebhookEndpointSpec): (origin: EventOrigin) => boolean {
  if (!spec.enabled) return () => false;
  const { eventTypes = [], projects = [] } = spec;
  const exact = new Set(eventTypes);
  const prefixes = eventTypes.filter((type) => type.endsWith('.*')).map((type) => type.slice(0, -1));
  const every = eventTypes.length === 0 || exact.has('*');
  const named = new Set(projects);
  return ({ event, project }) =>
    (project === '' || named.size === 0 || named.has(project)) &&
    (every || exact.has(event) || prefixes.some((prefix) => event.startsWith(prefix)));
}
