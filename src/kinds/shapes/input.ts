/** Owns what is put under /svc/inputs before work starts. Source: spec, "Job spec", Input. */
import { z } from 'zod';
import { bucketInput, sha256Hex } from './bucket-input.js';
import { isHttps } from './https-url.js';

/** Of these exactly one says where an input comes from. */
const ORIGINS = ['volume', 'output', 'bucket', 'url', 'fromWorkspace', 'fromStage'] as const;

export const input = z
  .object({
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must match ^[A-Za-z][A-Za-z0-9_]{0,63}$')
      .describe('File or directory name below the inputs directory; unique in the Job.'),
    volume: z
      .object({
        name: z.string().min(1).describe('Name of a Volume.'),
        revision: z.string().min(1).optional().describe('An exact revision; the newest when unset.'),
      })
      .optional()
      .describe('A revision of a Volume.'),
    output: z
      .object({
        job: z.string().min(1).describe('Name of a Job in the project.'),
        name: z.string().min(1).describe('Name of its output.'),
        index: z.int32().min(0).max(9999).default(0).describe('Index of the Job.'),
      })
      .optional()
      .describe('An output of another Job.'),
    bucket: bucketInput.optional().describe('An object in a bucket.'),
    url: z
      .object({
        url: z.string().max(8192).refine(isHttps, 'must be an https URL').describe('https only.'),
        sha256: sha256Hex.optional().describe('Checked at the end of the stream when set.'),
      })
      .optional()
      .describe('A file fetched from the web.'),
    fromWorkspace: z
      .object({
        name: z.string().min(1).describe('Name of a Workspace.'),
        path: z.string().optional().describe('Subdirectory of its home.'),
      })
      .optional()
      .describe('The home of a Workspace.'),
    fromStage: z
      .object({
        stage: z.string().min(1).describe('Name of an earlier stage.'),
        output: z.string().min(1).describe('Name of its output.'),
      })
      .optional()
      .describe('An output of an earlier stage; in Pipeline stages only.'),
  })
  .refine((given) => ORIGINS.filter((origin) => given[origin] !== undefined).length === 1, {
    message: `exactly one of ${ORIGINS.join(', ')} must be given`,
  });

export type Input = z.infer<typeof input>;
