/**
 * The fields of a FunctionCall: one call of a Function, and what it answered.
 * Source: decisions, "Kinds not detailed" and "Phases not named by the spec".
 */
import { z } from 'zod';
import { zDigest, zDuration, zTimestamp } from '../../api/schema.js';
import { identifier } from '../function/schema.js';
import { addIssue, addIssueUnlessOne, rules } from '../shapes/rules.js';
import { cost, statusReason } from '../shapes/status.js';
import { objectName } from '../shapes/names.js';

/** Larger values are stored as blobs: an object is copied to every watcher. In bytes of JSON. */
export const MAX_INLINE_BYTES = 256 * 1024;

const input = z
  .object({
    blob: zDigest().optional().describe('Digest of a stored blob with the arguments.'),
    inline: z
      .unknown()
      .check(({ value, issues }) => {
        if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_INLINE_BYTES) return;
        const message = `Too long: may not be more than ${MAX_INLINE_BYTES} bytes; store it as a blob`;
        addIssue(issues, [], message, 'FieldValueTooLong');
      })
      .optional()
      .describe(`Arguments as JSON, up to ${MAX_INLINE_BYTES} bytes.`),
  })
  .check(
    rules(({ value, issues }) => {
      addIssueUnlessOne(issues, [], value, ['blob', 'inline']);
    }),
  );

export const functionCallSpec = z.object({
  function: objectName('Name of a Function in the project.'),
  method: identifier.optional().describe('Method of its class.'),
  input: input.optional().describe('What it is called with; exactly one of blob and inline.'),
  group: z
    .string()
    .max(63)
    .regex(/^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/, 'must be a label value')
    .optional()
    .describe('Calls that belong together, such as those of one map.'),
  index: z.int32().min(0).optional().describe('Place in the group.'),
  timeout: zDuration({
    min: '1ms',
    description: 'Longest time of one attempt; that of the Function when unset.',
  }).optional(),
  state: z.enum(['Running', 'Cancelled']).default('Running').describe('Cancelled ends the call for good. Mutable.'),
});

export type FunctionCallSpec = z.infer<typeof functionCallSpec>;

export const FUNCTION_CALL_IMMUTABLE: readonly string[] = [
  'spec.function',
  'spec.method',
  'spec.input',
  'spec.group',
  'spec.index',
  'spec.timeout',
];

export const functionCallStatus = z.object({
  ...statusReason,
  attempts: z.int().optional().describe('Attempts made so far.'),
  completionTime: zTimestamp('When it finished.').optional(),
  cost: cost.optional().describe('Cost so far.'),
  error: z
    .object({
      message: z.string().optional().describe('What the error says.'),
      traceback: z.string().optional().describe('Where it was raised.'),
      type: z.string().optional().describe('Class of the error.'),
    })
    .optional()
    .describe('The error that ended it.'),
  output: z
    .object({
      blob: z.string().optional().describe('Digest of the blob with the answer, where it is too long for the object.'),
      inline: z
        .unknown()
        .check(({ value, issues }) => {
          if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_INLINE_BYTES) return;
          const message = `Too long: may not be more than ${MAX_INLINE_BYTES} bytes; store it as a blob`;
          addIssue(issues, [], message, 'FieldValueTooLong');
        })
        .optional()
        .describe('The answer as JSON.'),
      sha256: z.string().optional().describe('Of the answer.'),
      size: z.int().optional().describe('Bytes of the answer.'),
    })
    .optional()
    .describe('What it answered.'),
  phase: z.enum(['Queued', 'Running', 'Succeeded', 'Failed', 'Cancelled']).optional().describe('Lifecycle phase.'),
  startTime: zTimestamp('When a worker first took it.').optional(),
});

export type FunctionCallStatus = z.infer<typeof functionCallStatus>;
