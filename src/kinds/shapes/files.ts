/**
 * Files that work takes and leaves: the paths that a client may name, mounts of Volumes, inputs and outputs.
 * Source: spec, "Job spec", Input and Output; "Conventions" 16 and 18.
 */
import { z } from 'zod';
import { zAbsolutePath, zName } from '../../api/schema.js';
import { BRAND, WORK_ROOT } from '../../brand.js';
import { objectName } from './names.js';
import { httpsUrl } from './sources.js';

const below = (roots: readonly string[]): readonly string[] => roots.map((root) => `${root}/`);

/** Mounting over these would break the image or the isolation. */
const SYSTEM = below([
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr'],
  WORK_ROOT,
]);
/** Collecting these would take a kernel's live files, or a Secret's values (I11), for results. */
const UNREADABLE = below(['/dev', '/proc', '/run', '/sys']);

/** Where something of the client's may be mounted. */
export const mountPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, SYSTEM),
  'must not be a system path such as /, /etc or /proc; use a path such as /data',
);

/** What may be collected as an output. */
export const collectedPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, UNREADABLE),
  'must not be a system path such as /, /etc or /proc; use a path such as /data',
);

const LONGEST_PATH = 4096;

/** Below a directory that something else names: it cannot lead out of it. */
export const relativePath = z
  .string()
  .min(1)
  .max(LONGEST_PATH)
  .refine(
    (path) =>
      !path.startsWith('/') && !path.includes('\0') && path.split('/').every((part) => part !== '..' && part !== '.'),
    "must be a relative path without '.' or '..' as a part, for example data/train",
  );

function isRoot(path: string): boolean {
  return /^\/+$/.test(path);
}

/** `roots` end with a slash. */
function isBelow(path: string, roots: readonly string[]): boolean {
  const single = path.includes('//') ? path.replaceAll(/\/+/g, '/') : path;
  const plain = single.endsWith('/') ? single : `${single}/`;
  return roots.some((root) => plain.startsWith(root));
}

/** The mount of a Volume. */
export const volumeMount = z
  .object({
    volume: objectName('Name of a Volume in the project.'),
    mountPath: mountPath.describe('Absolute; system paths are refused.'),
    readOnly: z.boolean().optional().describe('Mount without the right to write.'),
    revision: z.string().min(1).optional().describe('An exact revision; only with readOnly.'),
  })
  .refine((mount) => mount.revision === undefined || mount.readOnly === true, {
    path: ['revision'],
    message: 'may only be set together with readOnly: true',
  });

export type VolumeMount = z.infer<typeof volumeMount>;

export const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Pattern of a bucket in a URI. Stores that speak S3 differ in the least length of its name. */
export const BUCKET = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';

/** Bytes of a key in S3. */
const LONGEST_KEY = 1024;

export const sha256Hex = z.string().regex(SHA256_HEX, 'must be a SHA-256 digest: 64 lower case hexadecimal digits');

/** An object in an S3 bucket as an input. */
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

/** Everything below this directory is collected as the output of this name, declared or not. */
export const STANDING_OUTPUT = { name: 'outputs', path: `${WORK_ROOT}/outputs` } as const;

const OUTPUT_NAME = /^[a-z0-9._-]{1,64}$/;
const SAY_OUTPUT_NAME = 'must be 1 to 64 lower case letters, digits, dots, underscores or hyphens, for example model-1';

const RESERVED = `${BRAND}.`;

/** As something refers to an output. */
export const outputName = z.string().regex(OUTPUT_NAME, SAY_OUTPUT_NAME);

/** As something declares an output. */
export const declaredOutputName = outputName
  .refine((name) => name !== '.' && name !== '..', 'must not be "." or ".."')
  .refine((name) => !name.startsWith(RESERVED), `must not begin with ${RESERVED}, which is reserved for the service`);

/** What is collected when work has ended. */
export const output = z
  .object({
    name: declaredOutputName.describe(`Unique in the Job. The prefix ${RESERVED} is reserved.`),
    path: collectedPath.describe('Absolute; a directory is archived as tar.zst.'),
    fromRanks: z.enum(['Zero', 'All']).optional().describe('Which ranks of a gang give it.'),
    sink: z
      .object({
        connection: objectName('Name of a Connection of a Postgres type.').optional(),
        mode: z.enum(['Append', 'Replace']).default('Append').describe('What happens to rows that are there.'),
        table: z.string().min(1).optional().describe('Table that is loaded.'),
      })
      .optional()
      .describe('A database table that the output is loaded into.'),
  })
  .refine((given) => given.name !== STANDING_OUTPUT.name || isStanding(given.path), {
    path: ['name'],
    message: `the output ${STANDING_OUTPUT.name} is always collected from ${STANDING_OUTPUT.path}; choose another name`,
  });

export type Output = z.infer<typeof output>;

function isStanding(path: string): boolean {
  return path.replace(/\/$/, '') === STANDING_OUTPUT.path;
}

export const INPUT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
export const SAY_INPUT_NAME =
  'must be a letter and up to 63 more letters, digits or underscores, for example train_data';

/** Of these exactly one says where an input comes from. */
const ORIGINS = ['volume', 'output', 'bucket', 'url', 'fromWorkspace', 'fromStage'] as const;

/** What is put below the inputs directory before work starts. */
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
