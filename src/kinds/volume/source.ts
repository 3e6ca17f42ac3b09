/** Where a Volume is filled from: exactly one place. Source: spec, "Volume". */
import { z } from 'zod';
import { BUCKET, sha256Hex } from '../shapes/files.js';
import { gitRef, httpsUrl, isOwnerAndName } from '../shapes/sources.js';
import { objectName } from '../shapes/names.js';
import { addIssueUnlessOne, rules } from '../shapes/rules.js';

const ORIGINS = ['connectionQuery', 'git', 'hub', 's3', 'upload', 'url'] as const;

const LONGEST_QUERY = 64 * 1024;

export const volumeSource = z
  .object({
    connectionQuery: z
      .object({
        connection: objectName('Name of a Connection of a database type.'),
        format: z.enum(['Parquet', 'CSV']).optional().describe('Form of the files; Parquet when unset.'),
        sql: z.string().min(1).max(LONGEST_QUERY).describe('A query that only reads.'),
      })
      .optional()
      .describe('The rows of a query.'),
    git: z
      .object({
        lfs: z.boolean().optional().describe('Fetch the files of Git LFS too.'),
        ref: gitRef.optional().describe('Branch, tag or commit; the default branch when unset.'),
        repo: httpsUrl.describe('https URL of the repository.'),
      })
      .optional()
      .describe('The files of a git repository.'),
    hub: z
      .object({
        files: z.array(z.string().min(1).max(1024)).max(256).optional().describe('Globs; every file when unset.'),
        repo: z
          .string()
          .max(256)
          .refine(isOwnerAndName, 'must be owner/name, for example openai/gsm8k')
          .describe('Repository of the hub, as owner/name.'),
        revision: gitRef.optional().describe('Commit of 40 hexadecimal digits, or a tag, resolved at admission.'),
        secret: objectName('Name of a Secret that holds the access token for gated repositories.').optional(),
      })
      .optional()
      .describe('The files of a model or data repository.'),
    s3: z
      .object({
        connection: objectName('Name of an S3 Connection in the project.'),
        uri: z
          .string()
          .max(2048)
          .regex(
            new RegExp(`^s3://${BUCKET}(?:/[^\\0\\r\\n]*)?$`),
            'must be s3://bucket/prefix, for example s3://datasets/2026',
          )
          .describe('s3://bucket/prefix'),
      })
      .optional()
      .describe('The objects below a prefix of a bucket.'),
    upload: z.object({}).optional().describe('Nothing: clients fill it.'),
    url: z
      .object({
        extract: z.enum(['Auto', 'None']).optional().describe('Auto (when unset): zip and tar are unpacked.'),
        sha256: sha256Hex.optional().describe('Checked at the end of the stream when set.'),
        url: httpsUrl.describe('https only.'),
      })
      .optional()
      .describe('A file of the web.'),
  })
  .check(rules(({ value, issues }) => addIssueUnlessOne(issues, [], value, ORIGINS)));

export type VolumeSource = z.infer<typeof volumeSource>;
