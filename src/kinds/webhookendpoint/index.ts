/** Owns the declaration of WebhookEndpoint: where the org's events are posted, signed. */
import { isConditionTrue, findCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, listCell } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { webhookEndpointMachine } from './machine.js';
import { webhookEndpointReferences } from './references.js';
import {
  rotationInput,
  webhookEndpointSpec,
  webhookEndpointStatus,
  type WebhookEndpointSpec,
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
    {
      name: 'URL',
      type: 'string',
      description: 'Where deliveries are posted.',
      cell: (object: This) => object.spec.url,
    },
    {
      name: 'Enabled',
      type: 'boolean',
      description: 'False: paused.',
      cell: (object: This) => object.spec.enabled,
    },
    {
      name: 'Healthy',
      type: 'string',
      description: 'Whether the receiver takes what it is sent.',
      cell: ({ status }: This) => findCondition(status.conditions, 'Healthy')?.status ?? '',
    },
    {
      name: 'Failing Since',
      type: 'date',
      priority: 1,
      description: 'Since when the receiver has failed.',
      cell: ({ status }: This) =>
        isConditionTrue(status.conditions, 'Healthy') ? null : (status.failingSince ?? null),
    },
    {
      name: 'Events',
      type: 'string',
      priority: 1,
      description: 'Event types and prefixes; nothing: every event.',
      cell: (object: This) => listCell(object.spec.eventTypes),
    },
  ],
  selectableFields: { 'spec.enabled': (object: This) => String(object.spec.enabled) },
  initialStatus: () => ({}),
  actions: [
    {
      path: 'rotations',
      action: 'RotateSecret',
      description:
        'Makes a new signing secret. `status.signingSecret` of the answer holds it, once; until previousSecretTTL has passed, deliveries carry signatures of both.',
      scope: 'webhookendpoints:write',
      input: rotationInput,
      status: 201,
    },
  ],
  references: webhookEndpointReferences,
  subresources: ['deliveries'],
  machine: webhookEndpointMachine,
};
