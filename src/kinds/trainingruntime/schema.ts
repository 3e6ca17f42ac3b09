/**
 * The fields of a TrainingRuntime: a trainer's image and the contract that TrainingJobs are made against (beta).
 * Source: spec, "TrainingRuntime".
 */
import { z } from 'zod';
import { zAbsolutePath, zMap } from '../../api/schema.js';
import { WORK_ROOT } from '../../brand.js';
import { MODES } from '../environment/schema.js';
import { conditionField } from '../shapes/status.js';
import { commandLine, initCommand, sidecars } from '../shapes/program.js';
import { boundedObject, MOST_NAMES } from '../shapes/bounds.js';
import { collectedPath, declaredOutputName } from '../shapes/files.js';
import { pinnedImage } from '../shapes/images.js';
import { resources } from '../shapes/resources.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

export const METHODS = ['Full', 'LoRA', 'QLoRA'] as const;

const KIB = 1024;

/** Seconds by accelerator class. */
const seconds = (description: string): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodNumber>> =>
  zMap(z.string().min(1).max(253), z.number().min(0).describe('Seconds.'), MOST_NAMES).optional().describe(description);

const preset = z.object({
  method: z.enum(METHODS).describe('How the weights are trained.'),
  model: z.string().min(1).max(512).describe('Model that it is for.'),
  resources: resources.describe('What it needs.'),
  quantization: z.string().min(1).max(63).optional().describe('Quantization of the base weights, such as nf4.'),
});

export const trainingRuntimeSpec = z
  .object({
    checkpointing: z
      .object({
        path: zAbsolutePath('Where the trainer saves.').default(`${WORK_ROOT}/state`),
        strategy: z.enum(['HubTrainer', 'Custom']).default('HubTrainer').describe('How the trainer saves.'),
      })
      .prefault({})
      .describe('How training is checkpointed.'),
    command: commandLine.optional().describe("Program and arguments; the image's own when unset."),
    defaults: z
      .object({
        initCommand: initCommand.optional().describe('Runs to its end before the trainer.'),
        parameters: boundedObject(64 * KIB, '64 KiB')
          .optional()
          .describe('Parameters of a TrainingJob that names none.'),
        resources: resources.optional().describe('Resources of a TrainingJob that names none.'),
        sidecars: sidecars.optional().describe('Programs that run beside the trainer.'),
      })
      .optional()
      .describe('What a TrainingJob has where it says nothing.'),
    environmentTasks: z
      .enum(['AttemptAPI'])
      .optional()
      .describe(
        'AttemptAPI: the image fetches public manifests through the live attempt. Unset: not fit for Environments on GPU hosts.',
      ),
    estimate: z
      .object({
        secondsPerStep: seconds('Seconds of one training step, by accelerator class.'),
        secondsPerTask: seconds('Seconds of one evaluated task, by accelerator class.'),
      })
      .optional()
      .describe('How long it takes.'),
    image: pinnedImage.describe("The trainer's image, pinned by its digest."),
    launcher: z
      .enum(['Plain', 'Torchrun', 'Accelerate', 'Deepspeed'])
      .default('Plain')
      .describe('Launcher of the ranks.'),
    modes: z.array(z.enum(MODES)).min(1).max(2).default(['Train']).describe('What it can do.'),
    outputs: z
      .array(
        z.object({
          name: declaredOutputName.describe('Unique in the runtime.'),
          path: collectedPath.describe('Absolute.'),
        }),
      )
      .max(32)
      .optional()
      .describe('What a TrainingJob leaves.'),
    parameters: boundedObject(64 * KIB, '64 KiB')
      .optional()
      .describe("JSON Schema of a TrainingJob's spec.parameters."),
    presets: z.array(preset).max(64).optional().describe('Sizes that are known to work.'),
    requires: z
      .object({
        data: z.boolean().optional().describe('A TrainingJob names data.'),
        environment: z.boolean().optional().describe('A TrainingJob names an Environment.'),
        model: z.boolean().default(true).describe('A TrainingJob names a model.'),
        teacher: z.boolean().optional().describe('A TrainingJob names a teacher.'),
      })
      .prefault({})
      .describe('What a TrainingJob must name.'),
    task: z
      .enum(['SFT', 'Pretrain', 'DPO', 'ORPO', 'KTO', 'Reward', 'GRPO', 'Distill', 'Evaluate', 'Custom'])
      .optional()
      .describe('What it trains for.'),
  })
  .check(
    rules(({ value, issues }) => {
      addIssueOfRepeats(issues, ['modes'], value.modes);
      addIssueOfRepeats(
        issues,
        ['outputs'],
        value.outputs?.map(({ name }) => name),
        ['name'],
      );
      addIssueOfRepeats(
        issues,
        ['defaults', 'sidecars'],
        value.defaults?.sidecars?.map(({ name }) => name),
        ['name'],
      );
      const type = value.parameters?.['type'];
      if (type !== undefined && type !== 'object')
        addIssue(issues, ['parameters', 'type'], "must be 'object': parameters are one");
    }),
  );

export const trainingRuntimeStatus = z.object({
  conditions: z.array(conditionField).optional().describe('Verified.'),
  imageDigest: z.string().optional().describe('Digest of its image.'),
  imageUser: z.string().optional().describe('User that the image names.'),
  managed: z.boolean().optional().describe('True for the runtimes of the catalog.'),
  message: z.string().optional().describe('Human-readable explanation of the phase.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Phase of the runtime.'),
  reason: z.string().optional().describe('Reason for the phase, one CamelCase word.'),
});

export type TrainingRuntimeSpec = z.infer<typeof trainingRuntimeSpec>;
export type TrainingRuntimeStatus = z.infer<typeof trainingRuntimeStatus>;
