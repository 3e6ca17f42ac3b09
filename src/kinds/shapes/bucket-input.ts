/** Owns an object in an S3 bucket as an input. Source: spec, "Conventions" 18. */
import { z } from 'zod';
import { objectName } from './object-name.js';

export const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Pattern of a bucket in a URI. Stores that speak S3 differ in the least length of its name. */
export const BUCKET = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';

/** Bytes of a key in S3. */
const LONGEST_KEY = 1024;

export const sha256Hex = z.string().regex(SHA256_HEX, 'must be a SHA-256 digest: 64 lower case hexadecimal digits');

export const bucketInput = z.object({
  uri: z
    .string()
    .max(5 + 63 + 1 + LONGEST_KEY)
    .regex(
      new RegExp(`^s3://${BUCKET}/[^\\0\\r\\n]+$`),
      'must be s3://bucket/key, for example s3://datasets/2026/train.jsonl',
    )
    .describe('The object, as s3://bucket/key.'),
  connection: objectName('Name of an S3 Connection in the project.'),
  sha256: sha256Hex.optional().describe('Checked at the end of the stream when set.'),
});

export type BucketInput = z.infer<typeof bucketInput>;
