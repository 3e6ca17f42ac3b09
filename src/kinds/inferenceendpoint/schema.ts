/**
 * The fields of an InferenceEndpoint: a named policy over one model of the catalog, with rate limits, the keys that
 * may call it, and a cap. Source: spec, "InferenceEndpoint".
 */
import { z } from 'zod';
import { zUsd } from '../../api/schema.js';
import { BRAND } from '../../brand.js';
import { conditionField } from '../shapes/status.js';
import { objectName } from '../shapes/names.js';
import { MODEL_ID } from '../model/schema.js';
import { addIssueOfRepeats, rules } from '../shapes/rules.js';

export const inferenceEndpointSpec = z
  .object({
    model: z
      .string()
      .regex(MODEL_ID, 'must be the name of a model')
      .describe(`A Model of the catalog: its name, ${BRAND}/<name>, its id or an alias.`),
    state: z.enum(['Running', 'Stopped']).default('Running').describe('Stopped answers every request with 503.'),
    allowedKeys: z
      .array(objectName('Name of an API key of the org.'))
      .max(256)
      .nullable()
      .optional()
      .describe('Only these API keys; empty allows every key of the org with scope inference:invoke.'),
    deployment: z
      .literal('', { error: 'is reserved for self-hosted models and must be empty' })
      .optional()
      .describe('Reserved for self-hosted models; must be empty.'),
    limits: z
      .object({
        maxConcurrent: z.int().min(1).max(256).default(4).describe('Requests at the same time.'),
        rpm: z.int().min(1).max(100_000).default(60).describe('Requests per minute.'),
        tpm: z.int().min(1).optional().describe('Tokens per minute; unlimited when unset.'),
      })
      .prefault({})
      .describe('Rate limits.'),
    maxCostUSD: zUsd({
      description: 'Total spend cap; requests are refused once it is reached. Can only be raised.',
    }).optional(),
  })
  .check(rules(({ value, issues }) => addIssueOfRepeats(issues, ['allowedKeys'], value.allowedKeys ?? undefined)));

const count = (description: string): z.ZodInt => z.int().describe(description);

export const inferenceEndpointStatus = z.object({
  conditions: z.array(conditionField).optional().describe('Ready and ModelAvailable.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  model: z.string().optional().describe('Name of the Model that it resolved to.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(['Running', 'Stopped']).optional().describe('Whether it serves requests.'),
  reason: z.string().optional().describe('Reason for the phase, one CamelCase word.'),
  usage24h: z
    .object({
      costUSD: zUsd({ description: 'What was charged.' }),
      errors: count('Requests that ended with no charge.'),
      inputTokens: count('Tokens that went in.'),
      openHolds: count('Requests that run now; each holds its largest cost.'),
      outputTokens: count('Tokens that came out, reasoning included.'),
      requests: count('All requests.'),
    })
    .optional()
    .describe('Use in the last 24 hours.'),
});

export type InferenceEndpointSpec = z.infer<typeof inferenceEndpointSpec>;
export type InferenceEndpointStatus = z.infer<typeof inferenceEndpointStatus>;
