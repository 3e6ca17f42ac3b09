/** Owns an object in an S3 bucket as an input. Source: spec, "Conventions" 18. */
import { z } from 'zod';

export const SHA256_HEX = /^[0-9a-f]{64}$/;

export const sha256Hex = z.string().regex(SHA256_HEX, 'must be 64 lower case hexadecimal digits');

export const bucketInput = z.object({
  uri: z
    .string()
    .regex(/^s3:\/\/[^/]+\/.+$/, 'must be s3://bucket/key')
    .describe('s3://bucket/key'),
  connection: z.string().min(1).describe('Name of an S3 Connection in the project.'),
  sha256: sha256Hex.optional().describe('Checked at the end of the stream when set.'),
});

export type BucketInput = z.infer<typeof bucketInput>;
