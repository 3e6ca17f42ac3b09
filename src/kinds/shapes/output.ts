/** Owns what is collected when work has ended. Source: spec, "Job spec", Output. */
import { z } from 'zod';
import { BRAND, WORK_ROOT } from '../../brand.js';
import { objectName } from './object-name.js';
import { collectedPath } from './paths.js';

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
