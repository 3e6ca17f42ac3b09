/**
 * The fields of an Environment: a package of tasks and graders, how it was measured, and where answers are graded.
 * Source: spec, "Environment".
 */
import { z } from 'zod';
import { zBytes, zCpu, zDigest, zDuration } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { boundedObject, boundedText } from '../shapes/bounds.js';
import { catalogName, objectName, semVer } from '../shapes/names.js';
import { httpsUrl, hubModel } from '../shapes/sources.js';
import { imageName, pinnedImage } from '../shapes/images.js';
import { addIssueOfRepeats, addIssueUnlessOne, rules } from '../shapes/rules.js';

export const MODES = ['Train', 'Evaluate'] as const;

const KIB = 1024;
const name = z.string().min(1).max(253);
const rate = z.object({ passRate: z.number().min(0).max(1).describe('Share of the tasks that passed, from 0 to 1.') });

const example = z.object({
  baseline: rate.optional().describe('Measured before training.'),
  trained: rate.optional().describe('Measured after training.'),
  changePP: z
    .string()
    .max(32)
    .regex(/^-?[0-9]+(?:\.[0-9]+)?$/, 'must be a decimal number')
    .optional()
    .describe('Change of the pass rate in percentage points.'),
  measuredOn: z
    .object({
      date: z.iso.date('must be a date such as 2026-01-02').optional().describe('YYYY-MM-DD.'),
      offering: objectName('Name of the Offering that it ran on.').optional(),
    })
    .optional()
    .describe('When and where it was measured.'),
  mode: z.enum(MODES).describe('What the example does.'),
  model: hubModel.optional().describe('hf://<repo>@<40-hex revision>'),
  name: name.describe('Unique in the Environment.'),
  parameters: boundedObject(64 * KIB, '64 KiB')
    .optional()
    .describe("The TrainingJob's parameters."),
  runtime: catalogName.describe('A TrainingRuntime of the project, or svc/<name> for one of the catalog.'),
  runtimeSeconds: z.number().min(0).optional().describe('How long it ran.'),
  tasks: z.int().min(0).optional().describe('Tasks that were measured.'),
});

const grader = z.object({
  name: name.optional().describe('Unique in the Environment.'),
  kind: z.enum(['Program', 'ExactMatch']).describe('How it judges.'),
  description: z
    .string()
    .max(4 * KIB)
    .optional()
    .describe('What it judges.'),
});

const packageField = z
  .object({
    image: pinnedImage.optional(),
    pip: z
      .object({
        name: name.describe('Name of the package.'),
        version: name.describe('Exact version.'),
        index: httpsUrl.optional().describe('Index that has it; the public one when unset.'),
      })
      .optional()
      .describe('A package of Python. Exactly one of image and pip.'),
    loader: name.default('load_environment').describe('Function of the package that makes the Environment.'),
  })
  .check(rules(({ value, issues }) => addIssueUnlessOne(issues, [], value, ['image', 'pip'])));

const split = z.object({ size: z.int().min(0).optional().describe('Number of tasks.') });

export const environmentSpec = z
  .object({
    category: z
      .enum(['Reasoning', 'Math', 'Code', 'Games', 'Control', 'Custom'])
      .optional()
      .describe('What it is about.'),
    examples: z.array(example).max(64).optional().describe('TrainingJobs with what they measured.'),
    graders: z.array(grader).max(64).optional().describe('What judges answers.'),
    heldOutMeasures: z
      .enum(['TrainedTask', 'Transfer'])
      .default('TrainedTask')
      .describe('What held-out tasks measure: the trained task, or the transfer to others.'),
    licenses: z
      .object({
        code: name.optional().describe('Licence of the code.'),
        data: name.optional().describe('Licence of the tasks.'),
      })
      .optional()
      .describe('Licences.'),
    modes: z.array(z.enum(MODES)).min(1).max(2).default(['Evaluate']).describe('What it may be used for.'),
    package: packageField.describe('What has the entrypoints. Exactly one of image and pip.'),
    publisher: name.optional().describe('Who publishes it.'),
    readiness: z.enum(['Research', 'Stable']).default('Research').describe('How far it may be relied on.'),
    requirements: z
      .object({
        gpu: name.optional().describe('Accelerator id or family that it needs.'),
        memory: zBytes({ description: 'Least memory.' }).optional(),
      })
      .optional()
      .describe('What it needs to run.'),
    rewardType: z.enum(['Binary', 'Scalar']).default('Binary').describe('What a verdict is.'),
    sampleTask: boundedText(4 * KIB, '4 KiB')
      .optional()
      .describe('One task, as it is shown.'),
    sandbox: z
      .object({
        cpu: zCpu({ description: 'CPU of a grading Sandbox.' }).default('1'),
        image: imageName.optional().describe('The image of the Environment when unset.'),
        memory: zBytes({ description: 'Memory of a grading Sandbox.' }).default('1Gi'),
        timeout: zDuration({ min: '1ms', max: '10m', description: 'Of one batch of grading.' }).default('60s'),
      })
      .prefault({})
      .describe('Where answers are graded: without a network, candidate code as an unprivileged user.'),
    sourceURL: httpsUrl.optional().describe('Where its source is.'),
    splits: z
      .object({
        train: split.optional().describe('Tasks to train on.'),
        test: split.optional().describe('Held-out tasks.'),
      })
      .optional()
      .describe('How many tasks there are.'),
    summary: z
      .string()
      .max(4 * KIB)
      .optional()
      .describe('What it is, in a sentence.'),
    version: semVer.describe('Semantic version; references name it as svc/<name>@<version>.'),
  })
  .check(
    rules(({ value: { examples, graders, modes }, issues }) => {
      addIssueOfRepeats(
        issues,
        ['examples'],
        examples?.map((one) => one.name),
        ['name'],
      );
      // A grader without a name repeats no other one.
      const names = graders?.map((one, index) => one.name ?? `\0${index}`);
      addIssueOfRepeats(issues, ['graders'], names, ['name']);
      addIssueOfRepeats(issues, ['modes'], modes);
    }),
  );

const manifest = z.object({
  digest: zDigest('Digest of the manifest of its tasks.').optional(),
  size: z.int().optional().describe('Number of tasks.'),
});

export const environmentStatus = z.object({
  conditions: z.array(conditionField).optional().describe('Verified.'),
  digest: z.string().optional().describe('Digest of the image that it resolved to.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Phase of the Environment.'),
  reason: z.string().optional().describe('Reason for the phase, one CamelCase word.'),
  splits: z
    .object({
      test: manifest.optional().describe('Held-out tasks.'),
      train: manifest.optional().describe('Tasks to train on.'),
    })
    .optional()
    .describe('The tasks as they were found in the package.'),
});

export type EnvironmentSpec = z.infer<typeof environmentSpec>;
export type EnvironmentStatus = z.infer<typeof environmentStatus>;
