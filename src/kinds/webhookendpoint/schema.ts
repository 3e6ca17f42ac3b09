/** The fields of a WebhookEndpoint. Source: spec, "WebhookEndpoint" and "Webhook actions". */
import { z } from 'zod';
import { zDuration, zTimestamp } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { projectsField } from '../shapes/names.js';
import { httpsUrl } from '../shapes/sources.js';

/** More patterns than there are event types say nothing new. */
const MOST_PATTERNS = 128;

const EVENT_PATTERN = /^(?:\*|[a-z][a-z0-9]{0,62}\.(?:\*|[a-z][a-z0-9_]{0,62}))$/;

export const webhookEndpointSpec = z.object({
  url: httpsUrl.describe('Where deliveries are posted: https at a public address. Redirects are not followed.'),
  description: z.string().max(1024).optional().describe('Description for people.'),
  enabled: z.boolean().default(true).describe('False pauses it: pending deliveries are dropped and none are made.'),
  eventTypes: z
    .array(z.string().regex(EVENT_PATTERN, 'must be "<kind>.<reason>", "<kind>.*" or "*", for example "job.succeeded"'))
    .max(MOST_PATTERNS)
    .optional()
    .describe('Exact types, prefixes such as job.*, or *. None named: every event.'),
  projects: projectsField.describe(
    'Projects whose events are sent; none named: every project. Org-level events always match.',
  ),
});

export const webhookEndpointStatus = z.object({
  conditions: z
    .array(conditionField)
    .optional()
    .describe('Healthy: False with reason DeliveriesFailing while the receiver fails.'),
  deliveries24h: z
    .object({
      failed: z.int32().describe('Deliveries that failed for good.'),
      succeeded: z.int32().describe('Deliveries that the receiver took.'),
    })
    .optional()
    .describe('Deliveries of the last 24 hours.'),
  failingSince: zTimestamp('Since when the receiver has failed.').optional(),
  lastDelivery: z
    .object({
      attempt: z.int32().describe('Number of the attempt, from 1.'),
      eventType: z.string().describe('Type of the event.'),
      statusCode: z.int32().describe('HTTP status of the receiver; 0 when there was no response.'),
      time: zTimestamp('When it was attempted.'),
    })
    .optional()
    .describe('The latest attempt of any delivery.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  secretRotation: z
    .object({ previousExpirationTime: zTimestamp('Until then deliveries are signed with the old secret too.') })
    .optional()
    .describe('Present while two secrets sign.'),
  signingSecret: z
    .string()
    .optional()
    .describe('The secret that signs, `whsec_` and base64: in the answer to the create or a rotation, once.'),
});

/** Body of `POST …/webhookendpoints/{name}/rotations`. */
export const rotationInput = z.strictObject({
  previousSecretTTL: zDuration({ max: '168h', description: 'How long the old secret goes on signing.' }).default('24h'),
});

export type WebhookEndpointSpec = z.infer<typeof webhookEndpointSpec>;
export type WebhookEndpointStatus = z.infer<typeof webhookEndpointStatus>;
