/** Owns what is put under /svc/inputs before work starts. Source: spec, "Job spec", Input. */
import { z } from 'zod';
import { zName } from '../../api/schema.js';
import { bucketInput, sha256Hex } from './bucket-input.js';
import { httpsUrl } from './https-url.js';
import { objectName } from './object-name.js';
import { outputName } from './output.js';
import { relativePath } from './paths.js';

export const INPUT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
export const SAY_INPUT_NAME =
  'must be a letter and up to 63 more letters, digits or underscores, for example train_data';

/** Of these exactly one says where an input comes from. */
const ORIGINS = ['volume', 'output', 'bucket', 'url', 'fromWorkspace', 'fromStage'] as const;

export const input = z
  .object({
    name: z
      .string()
      .regex(INPUT_NAME, SAY_INPUT_NAME)
      .describe('File or directory name below the inputs directory; unique in the Job.'),
    volume: z
      .object({
        name: objectName('Name of a Volume in the project.'),
        revision: z.string().min(1).optional().describe('An exact revision; the newest when unset.'),
      })
      .optional()
      .describe('A revision of a Volume.'),
    output: z
      .object({
        job: objectName('Name of a Job in the project.'),
        name: outputName.describe('Name of its output.'),
        index: z.int32().min(0).max(9999).default(0).describe('Index of the Job.'),
      })
      .optional()
      .describe('An output of another Job.'),
    bucket: bucketInput.optional().describe('An object in a bucket.'),
    url: z
      .object({
        url: httpsUrl.describe('https URL without credentials.'),
        sha256: sha256Hex.optional().describe('Checked at the end of the stream when set.'),
      })
      .optional()
      .describe('A file fetched from the web.'),
    fromWorkspace: z
      .object({
        name: objectName('Name of a Workspace in the project.'),
        path: relativePath.optional().describe('Subdirectory of its home; the whole home when unset.'),
      })
      .optional()
      .describe('The home of a Workspace.'),
    fromStage: z
      .object({
        stage: zName({ form: 'label' }).describe('Name of an earlier stage.'),
        output: outputName.describe('Name of its output.'),
      })
      .optional()
      .describe('An output of an earlier stage; in Pipeline stages only.'),
  })
  .refine((given) => ORIGINS.filter((origin) => given[origin] !== undefined).length === 1, {
    message: `exactly one of ${ORIGINS.join(', ')} must be given`,
  });

export type Input = z.infer<typeof input>;
