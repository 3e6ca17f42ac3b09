/** Owns what a WebhookEndpoint names and must exist: its projects, since a misspelt one would never match an event. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import type { WebhookEndpointSpec } from './schema.js';

export function webhookEndpointReferences({ spec }: ApiObject<WebhookEndpointSpec>): readonly Reference[] {
  return (spec.projects ?? []).map((name, index) => ({
    field: `spec.projects[${index}]`,
    kind: 'Namespace',
    project: '',
    name,
  }));
}
