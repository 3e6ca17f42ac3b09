/** The description of a log of deliveries (`http/routes/deliveries.ts`). Source: spec, "Webhook actions". Pure. */
import { record, described } from '../../routes/declared/bodies.js';
import { IDEMPOTENCY_KEY, NAME } from '../parameters.js';
import { INTEGER, list, path, query, route, TEXT } from '../route.js';
import type { Node } from '../schema.js';

const TIME: Node = { type: 'string', format: 'date-time' };

const DELIVERY = record(
  {
    id: described('Names the delivery: the webhook-id header of its attempts.'),
    eventType: described('Type of the event.'),
    phase: described('Abandoned: the endpoint was deleted or paused.', {
      type: 'string',
      enum: ['Pending', 'Succeeded', 'Failed', 'Abandoned'],
    }),
    attempts: described('Attempts that have ended; what follows is of the last one.', INTEGER),
    statusCode: described("The receiver's status; 0 when there was no response.", INTEGER),
    durationSeconds: described('How long it took.', { type: 'number' }),
    error: described('What went wrong.'),
    lastAttemptTime: described('When it ended.', TIME),
    nextAttemptTime: described('When the next one is due; while it is Pending.', TIME),
    time: described('When the event happened, or the replay was asked for.', TIME),
    replayOf: described('Id of the delivery whose body it has.'),
  },
  ['id', 'eventType', 'phase', 'attempts', 'time'],
);

const name = NAME as unknown as Node;

export function describeDeliveries(object: string, kind: string): Record<string, Node> {
  const deliveries = `${object}/deliveries`;
  return {
    [deliveries]: {
      get: route({
        ...{ id: `listDeliveriesOf${kind}`, tag: kind, summary: 'List deliveries of the last 7 days' },
        parameters: [
          name,
          query('limit', 'At most so many.', INTEGER),
          query('after', '`continue` of the page before.'),
        ],
        answer: {
          schema: list(DELIVERY, { continue: { ...TEXT, description: 'Present when there are more.' } }),
          description: 'Newest first.',
        },
      }),
    },
    [`${deliveries}/{id}/replays`]: {
      post: route({
        ...{
          id: `replayDeliveryOf${kind}`,
          tag: kind,
          summary: 'Deliver the same body again, with a new webhook-id',
        },
        parameters: [name, path('id', 'Id of the delivery.'), { ...IDEMPOTENCY_KEY }],
        answer: { status: 201, schema: DELIVERY, description: 'The new delivery.' },
      }),
    },
  };
}
