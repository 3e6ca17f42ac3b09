/** The description of what a webhook receiver is sent. Source: spec, "Events", "Delivery". Pure. */
import type { Node } from './schema.js';

const text = (description: string, more: Node = {}): Node => ({ type: 'string', ...more, description });

function record(description: string, properties: Record<string, Node>): Node {
  return { type: 'object', description, properties };
}

export const WEBHOOK_DELIVERY: Node = record(
  'Body of a delivery: at most 64 KiB, signed as the header webhook-signature says. Deliveries may repeat and come out of order.',
  {
    type: text('Event type, such as job.failed.'),
    timestamp: text('When it happened.', { format: 'date-time' }),
    data: record('What happened, and to what.', {
      event: record('What happened.', {
        reason: text('Why, as one word.'),
        message: text('What happened, for people.'),
        count: { type: 'integer', format: 'int32', description: 'How often it has happened.' },
      }),
      object: record('The object that it happened to.', {
        apiVersion: text('Its apiVersion.'),
        kind: text('Its kind.'),
        metadata: record('What names it.', {
          name: text('Its name.'),
          namespace: text('Its project; absent at org level.'),
          uid: text('Its uid.'),
        }),
        status: {
          ...record('Part of its status.', { phase: text('Its phase.') }),
          additionalProperties: true,
        },
      }),
    }),
  },
);
