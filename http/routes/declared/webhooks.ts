/** Owns the description of the delivery log of WebhookEndpoints. Source: spec, "Webhook actions" and "Delivery rules". */
import { INTEGER, list, path, query, TEXT } from '../../openapi/route.js';
import { IDEMPOTENCY_KEY } from '../../openapi/parameters.js';
import { record, said } from './bodies.js';
import type { BelowRoute } from './declared.js';

const WEBHOOKS = { plural: 'webhookendpoints', tag: 'WebhookEndpoint' } as const;

const DELIVERY = record({
  id: said('Names the delivery.'),
  webhookId: said('The webhook-id header of its attempts.'),
  eventType: said('Type of the event.'),
  attempts: said('Attempts so far.', INTEGER),
  statusCode: said("The receiver's last status; 0 when there was no response.", INTEGER),
  durationSeconds: said('How long the last attempt took.', { type: 'number' }),
  phase: said('Abandoned: the endpoint was deleted or paused.', {
    type: 'string',
    enum: ['Pending', 'Succeeded', 'Failed', 'Abandoned'],
  }),
  time: said('When the event happened.', { type: 'string', format: 'date-time' }),
});

export const WEBHOOK_ROUTES: readonly BelowRoute[] = [
  {
    ...WEBHOOKS,
    method: 'GET',
    path: 'deliveries',
    verb: 'read',
    id: 'listDeliveriesOfWebhookEndpoint',
    summary: 'List deliveries of the last 7 days',
    parameters: [query('limit', 'At most so many.', INTEGER), query('after', '`continue` of the page before.')],
    answer: { schema: list(DELIVERY, { continue: TEXT }), description: 'Newest first.' },
  },
  {
    ...WEBHOOKS,
    method: 'POST',
    path: 'deliveries/{id}/replays',
    verb: 'write',
    id: 'replayDeliveryOfWebhookEndpoint',
    summary: 'Deliver the same body again, with a new webhook-id',
    parameters: [path('id', 'Id of the delivery.'), { ...IDEMPOTENCY_KEY }],
    answer: { status: 201, schema: DELIVERY, description: 'The new delivery.' },
  },
];
