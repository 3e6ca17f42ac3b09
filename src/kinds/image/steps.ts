/** One step of the build of an Image: exactly one thing to do. Source: spec, "Image". */
import { z } from 'zod';
import { zAbsolutePath, zDigest, zMap } from '../../api/schema.js';
import { addIssueUnlessOne, rules } from '../shapes/rules.js';
import { hasNoNul, ownVariableName } from '../shapes/program.js';
import { httpsUrl } from '../shapes/sources.js';
import { MOST_ENV } from '../shapes/bounds.js';

/** Of these exactly one says what a step does. */
const ACTIONS = ['aptInstall', 'copy', 'env', 'pipInstall', 'run', 'uvPipInstall', 'uvSync', 'workdir'] as const;

/** One argument of an installer: never an option of it, and never two words. */
const PACKAGE = /^[^-\s]\S*$/;

const packageName = z.string().max(512).regex(PACKAGE, 'must be one package, and no option');
/** Of pip: `name>=1`, `name @ https://…`, `name ; python_version < "3.12"`. */
const requirement = z
  .string()
  .max(2048)
  .regex(/^[^-\s][^\r\n\0]*$/, 'must be one requirement on one line, and no option')
  .meta({ example: 'numpy>=2.0' });

const text = z.string().refine(hasNoNul, 'must not contain a NUL character');

export const textByName = zMap(ownVariableName, text, MOST_ENV);

const pip = z.object({
  extraIndexURLs: z.array(httpsUrl).max(16).optional().describe('Package indexes that are looked at as well.'),
  indexURL: httpsUrl.optional().describe('Package index; the public one when unset.'),
  packages: z.array(requirement).min(1).max(1024).describe('Requirements, as pip writes them.'),
});

export const imageStep = z
  .object({
    aptInstall: z.array(packageName).min(1).max(1024).optional().describe('Installs packages of the system.'),
    copy: z
      .object({
        blob: zDigest().describe('Digest of a stored blob.'),
        dest: zAbsolutePath().describe('Where it is put.'),
      })
      .optional()
      .describe('Copies a blob into the image.'),
    env: textByName.optional().describe('Sets variables for the following steps and for work.'),
    pipInstall: pip.optional().describe('Installs Python packages with pip.'),
    run: z
      .array(text.min(1))
      .min(1)
      .max(1024)
      .optional()
      .describe('Shell commands, one after another, which make one layer.'),
    uvPipInstall: pip.optional().describe('Installs Python packages with uv.'),
    uvSync: z
      .object({
        frozen: z.boolean().optional().describe('Take the lock file as it is.'),
        project: zDigest().describe('Digest of a tar with pyproject.toml and uv.lock.'),
      })
      .optional()
      .describe('Installs what a uv project locks.'),
    workdir: zAbsolutePath().optional().describe('Sets the working directory.'),
  })
  .check(rules(({ value, issues }) => addIssueUnlessOne(issues, [], value, ACTIONS)));

export type ImageStep = z.infer<typeof imageStep>;
