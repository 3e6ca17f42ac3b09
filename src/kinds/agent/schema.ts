/**
 * The fields of an Agent: what its runs are told, which models serve them, and what each may cost.
 * Source: spec, "Agent". A run keeps what its Agent said when it was created, so every field may change.
 */
import { z } from 'zod';
import { zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { boundedText } from '../shapes/bounds.js';
import { imageName } from '../shapes/images.js';
import { objectName } from '../shapes/names.js';
import { DEFAULT_IMAGE } from '../image/catalog.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

export const DEFAULT_MAX_TOKENS = 8192;
export const DEFAULT_MAX_TOOL_CALLS = 50;

/** Runs on a hosted model, or on one that the customer's own key pays for. */
const HOSTED = 'Nodus-hosted';
const OWN_KEY = 'BYOK';

const model = z
  .object({
    access: z
      .enum([HOSTED, OWN_KEY])
      .default(HOSTED)
      .describe('A hosted model, or one that your own key pays for (BYOK).'),
    apiKeySecret: objectName("Secret in the project that holds the vendor's key; BYOK only.").optional(),
    families: z
      .array(z.enum(['haiku', 'sonnet', 'opus', 'fable']))
      .max(4)
      .optional()
      .describe('Families that the router may choose from; all when empty. Hosted access only.'),
    name: z.string().min(1).max(253).optional().describe('Id of the model of every turn; BYOK only.'),
  })
  .check(
    rules(({ value, issues }) => {
      const own = value.access === OWN_KEY;
      for (const field of ['apiKeySecret', 'name'] as const) {
        if (own && value[field] === undefined)
          addIssue(issues, [field], `is needed with access ${OWN_KEY}`, 'FieldValueRequired');
        if (!own && value[field] !== undefined)
          addIssue(issues, [field], `is for access ${OWN_KEY} only`, 'FieldValueForbidden');
      }
      if (own && (value.families ?? []).length > 0) {
        addIssue(issues, ['families'], `is for access ${HOSTED} only`, 'FieldValueForbidden');
      }
      addIssueOfRepeats(issues, ['families'], value.families);
    }),
  );

export const agentSpec = z.object({
  image: imageName.default(DEFAULT_IMAGE).describe("Image of the runs' Sandboxes."),
  maxTokens: z
    .int()
    .min(0)
    .default(DEFAULT_MAX_TOKENS)
    .describe('Most tokens that one model call may answer; 8192 when zero.'),
  maxToolCalls: z.int32().min(0).default(DEFAULT_MAX_TOOL_CALLS).describe('Most tool calls of one turn; 50 when zero.'),
  model: model.prefault({}).describe('Which models serve the runs.'),
  perRunMaxCostUSD: zUsd({ min: '0.01', max: '1000', description: 'Cost cap of one run.' }).default('1.00'),
  state: z.enum(['Running', 'Stopped']).default('Running').describe('Stopped refuses new runs and leaves queued ones.'),
  system: boundedText(64 * 1024, '64 KiB')
    .optional()
    .describe('System prompt.'),
});

export const agentStatus = z.object({
  conditions: z.array(conditionField).optional().describe('Conditions of the Agent.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(['Running', 'Stopped']).optional().describe('Whether it takes new runs.'),
  revision: z.string().optional().describe('Names this spec; a run keeps the revision that it was admitted with.'),
});

export type AgentSpec = z.infer<typeof agentSpec>;
export type AgentStatus = z.infer<typeof agentStatus>;
