/** The declaration of WebhookEndpoint: where the org's events are posted, signed. */
import { findCondition, isConditionTrue } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { booleanColumn, dateColumn, EVERY_OPERATION, textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { secretsEndedByRotation, webhookEndpointMachine } from './machine.js';
import {
  rotationInput,
  webhookEndpointSpec,
  type WebhookEndpointSpec,
  webhookEndpointStatus,
  type WebhookEndpointStatus,
} from './schema.js';

type This = ApiObject<WebhookEndpointSpec, WebhookEndpointStatus>;

export const webhookEndpointKind: KindDefinition = {
  kind: 'WebhookEndpoint',
  plural: 'webhookendpoints',
  singular: 'webhookendpoint',
  shortNames: ['wh', 'webhook'],
  categories: [],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description: 'A receiver of signed HTTPS callbacks for the events of the org.',
  schema: { spec: webhookEndpointSpec, status: webhookEndpointStatus, immutable: [], raiseOnly: [] },
  dials: ({ spec }: This) => [{ field: 'spec.url', url: spec.url }],
  columns: [
    textColumn('URL', 'Where deliveries are posted.', ({ spec }: This) => spec.url),
    booleanColumn('Enabled', 'False: paused.', ({ spec }: This) => spec.enabled),
    textColumn(
      'Healthy',
      'Whether the receiver takes what it is sent.',
      ({ status }: This) => findCondition(status.conditions, 'Healthy')?.status,
    ),
    wide(
      dateColumn('Failing Since', 'Since when the receiver has failed.', ({ status }: This) =>
        isConditionTrue(status.conditions, 'Healthy') ? null : (status.failingSince ?? null),
      ),
    ),
    wide(textColumn('Events', 'Event types and prefixes; nothing: every event.', ({ spec }: This) => spec.eventTypes)),
  ],
  selectableFields: { 'spec.enabled': (object: This) => String(object.spec.enabled) },
  initialStatus: () => ({}),
  actions: [
    {
      path: 'rotations',
      action: 'RotateSecret',
      description:
        'Makes a new signing secret. `status.signingSecret` of the answer holds it, once; until previousSecretTTL has passed, deliveries carry signatures of both. A secret that is still older ends at once, and a Warning says so.',
      scope: 'webhookendpoints:write',
      input: rotationInput,
      status: 201,
      warnings: ({ status }: This, now) => secretsEndedByRotation(status, now),
    },
  ],
  references: webhookEndpointReferences,
  subresources: ['deliveries'],
  machine: webhookEndpointMachine,
};

export function webhookEndpointReferences({ spec }: ApiObject<WebhookEndpointSpec>): readonly Reference[] {
  return (spec.projects ?? []).map((name, index) => ({
    field: `spec.projects[${index}]`,
    kind: 'Namespace',
    project: '',
    name,
  }));
}
