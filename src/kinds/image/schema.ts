/** The fields of an Image: how it is built, and what came of it. Source: spec, "Image". */
import { z } from 'zod';
import { zAbsolutePath, zDigest, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField, statusReason } from '../shapes/status.js';
import { imageName } from '../shapes/images.js';
import { objectName } from '../shapes/names.js';
import { addIssue, addIssueOfRepeats, addIssueUnlessOne, rules } from '../shapes/rules.js';
import { imageStep, textByName } from './steps.js';

/** Of these exactly one says what an Image is built from. */
const ORIGINS = ['base', 'dockerfile', 'fromSandbox'] as const;

const dockerfile = z
  .object({
    blob: zDigest().optional().describe('Digest of a stored Dockerfile.'),
    inline: z.string().min(1).optional().describe('Text of the Dockerfile. Exactly one of blob and inline.'),
    buildArgs: textByName.optional().describe('Values of its ARGs. They stay in the image: no secrets.'),
    context: zDigest().optional().describe('Digest of a tar with the files that it may copy.'),
    target: z.string().min(1).max(128).optional().describe('Stage that is built; the last one when unset.'),
  })
  .check(rules(({ value, issues }) => addIssueUnlessOne(issues, [], value, ['blob', 'inline'])));

const fields = z.object({
  base: imageName.optional().describe('Image that the steps are put on. Exactly one of base, dockerfile, fromSandbox.'),
  buildSecrets: z
    .array(objectName('Name of a Secret in the project.'))
    .max(32)
    .optional()
    .describe('Mounted as build secrets while it is built; never in a layer.'),
  dockerfile: dockerfile.optional().describe('Builds a Dockerfile.'),
  fromSandbox: z
    .object({
      name: objectName('Name of a Sandbox in the project.'),
      includePaths: z.array(zAbsolutePath()).max(64).optional().describe('Only these paths; all files when unset.'),
    })
    .optional()
    .describe('Takes the files of a Sandbox.'),
  imagePullSecrets: z
    .array(objectName('Name of a Secret of type Registry.'))
    .max(4)
    .optional()
    .describe('Credentials for the registry of the base.'),
  platform: z.enum(['linux/amd64', 'linux/arm64']).optional().describe("The machine's own when unset."),
  python: z
    .string()
    .regex(/^3\.[0-9]{1,2}(?:\.[0-9]{1,2})?$/, 'must be a version of Python such as 3.12')
    .optional()
    .describe('Version of Python inside; detected from the base when unset.'),
  steps: z.array(imageStep).max(128).optional().describe('Build steps, applied to the base in this order.'),
  tags: z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/,
          'must be 1 to 128 letters, digits, dots, underscores or hyphens, and begin with none of . and -, for example v1.2',
        ),
    )
    .max(128)
    .optional()
    .describe('Names for the digest, such as latest.'),
});

export const imageSpec = fields.check(
  rules(({ value, issues }) => {
    addIssueUnlessOne(issues, [], value, ORIGINS);
    if (value.base === undefined && (value.steps ?? []).length > 0) {
      addIssue(issues, ['steps'], 'may only be set together with base', 'FieldValueForbidden');
    }
    addIssueOfRepeats(issues, ['buildSecrets'], value.buildSecrets);
    addIssueOfRepeats(issues, ['tags'], value.tags);
  }),
);

export type ImageSpec = z.infer<typeof fields>;

export const imageObjectStatus = z.object({
  ...statusReason,
  build: z
    .object({
      attempt: z.string().optional().describe('Name of the Attempt that built it.'),
      cached: z.boolean().optional().describe('True: the digest of an identical spec was used again.'),
      completionTime: zTimestamp('When it finished.').optional(),
      costUSD: zUsd({ description: 'What the build cost.' }).optional(),
      cpuSeconds: z.number().optional().describe('Seconds of CPU that it took.'),
      startTime: zTimestamp('When it started.').optional(),
    })
    .optional()
    .describe('The last build.'),
  conditions: z.array(conditionField).optional().describe('Ready.'),
  digest: z.string().optional().describe('sha256:<64 hexadecimal digits>'),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Lifecycle phase.'),
  progress: z
    .object({ stage: z.enum(['Queued', 'Building', 'Pushing']).optional().describe('What is being done.') })
    .optional()
    .describe('The build that is under way.'),
  python: z.string().optional().describe('Version of Python inside.'),
  reference: z.string().optional().describe('repository@digest, to be named as an image.'),
  size: z.int().optional().describe('Compressed bytes.'),
  specHash: z.string().optional().describe('Equal hashes share a digest.'),
  tags: z.record(z.string(), z.string()).optional().describe('Digest by tag.'),
});

export type ImageObjectStatus = z.infer<typeof imageObjectStatus>;
