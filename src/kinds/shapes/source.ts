/** Owns the program text that is unpacked before work starts. Source: spec, "Job spec", Source. */
import { z } from 'zod';
import { zAbsolutePath, zDigest } from '../../api/schema.js';
import { gitRef, gitRepository } from './git-repository.js';

export const source = z
  .object({
    git: z
      .object({
        repo: gitRepository.describe('owner/name or an https URL without credentials.'),
        ref: gitRef.optional().describe('Branch, tag or commit; the default branch when unset.'),
        path: zAbsolutePath().optional().describe('Directory that receives the files; workingDir when unset.'),
      })
      .optional()
      .describe('A git repository.'),
    blob: zDigest().optional().describe('A stored archive (tar, tar.gz or tar.zst), unpacked into workingDir.'),
  })
  .refine((given) => (given.git === undefined) !== (given.blob === undefined), {
    message: 'exactly one of git and blob must be given',
  });

export type Source = z.infer<typeof source>;
