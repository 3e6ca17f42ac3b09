/** The fields of a Model: what it can do, what it costs, and whether anything serves it now. Source: spec, "Model". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { addIssueOfRepeats, rules } from '../shapes/rules.js';

/** As a request names it, or an alias of it: `claude-sonnet-4`, `acme/chat:latest`. */
export const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$/;

const modelId = z.string().regex(MODEL_ID, 'must be an id of a model such as acme/chat-1');
const modality = z.enum(['Text', 'Image', 'Audio', 'Embedding']);
const yes = (description: string): z.ZodOptional<z.ZodBoolean> => z.boolean().optional().describe(description);
const usd = (description: string): z.ZodOptional<z.ZodType<string, string>> => zUsd({ description }).optional();

export const modelSpec = z
  .object({
    aliases: z.array(modelId).max(64).optional().describe('Other names that a request may use.'),
    capabilities: z
      .object({
        jsonSchema: yes('Answers can be held to a JSON Schema.'),
        promptCaching: yes('Prompts can be cached.'),
        reasoning: yes('It reasons before it answers.'),
        streaming: yes('Answers can be streamed.'),
        tools: yes('It can call tools.'),
      })
      .optional()
      .describe('What it can do.'),
    contextTokens: z.int().min(0).optional().describe('Most tokens of a request and its answer together.'),
    deprecationTime: zTimestamp('When serving it stops, once that is announced.').optional(),
    description: z.string().max(4096).optional().describe('What it is, for people.'),
    displayName: z.string().max(253).optional().describe('Display name.'),
    family: z.string().max(253).optional().describe('Family that it belongs to.'),
    id: modelId.optional().describe('Id that a request names; the name of the object when unset.'),
    imageTokenAllowance: z.int().min(0).optional().describe('Tokens that are held for each image of a request.'),
    maxOutputTokens: z.int().min(0).optional().describe('Most tokens of one answer.'),
    modalities: z
      .object({
        input: z.array(modality).max(4).optional().describe('What it takes.'),
        output: z.array(modality).max(4).optional().describe('What it makes.'),
      })
      .optional()
      .describe('What it takes and makes.'),
    operations: z
      .array(z.string().regex(/^\/v1\/[a-z/_]+$/, 'must be a route such as /v1/chat/completions'))
      .max(16)
      .optional()
      .describe('Inference routes that serve it.'),
    preview: z.boolean().optional().describe('It may change or go without notice.'),
    pricing: z
      .object({
        audioMinimumSeconds: z.number().min(0).optional().describe('Seconds of audio that are charged at least.'),
        audioPerSecondUSD: usd('Per second of audio.'),
        cacheReadPerMillionTokensUSD: usd('Per million tokens read from the cache.'),
        cacheWritePerMillionTokensUSD: usd('Per million tokens written to the cache.'),
        inputPerMillionTokensUSD: usd('Per million tokens of input.'),
        outputPerMillionTokensUSD: usd('Per million tokens of output.'),
        pricebookVersion: z.string().max(63).optional().describe('Version of the prices.'),
        speechPerMillionCharactersUSD: usd('Per million characters that are spoken.'),
      })
      .optional()
      .describe('What it costs; a unit that it does not bill is absent.'),
  })
  .check(
    rules(({ value, issues }) => {
      addIssueOfRepeats(issues, ['aliases'], value.aliases);
      addIssueOfRepeats(issues, ['operations'], value.operations);
    }),
  );

export const modelStatus = z.object({
  available: z.boolean().optional().describe('Something serves it now.'),
  conditions: z.array(conditionField).optional().describe('Ready and Available.'),
  phase: z.enum(['Ready', 'Pending']).optional().describe('Ready while something serves it.'),
});

export type ModelSpec = z.infer<typeof modelSpec>;
export type ModelStatus = z.infer<typeof modelStatus>;
