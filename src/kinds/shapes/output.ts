/** Owns what is collected when work has ended. Source: spec, "Job spec", Output. */
import { z } from 'zod';
import { BRAND, WORK_ROOT } from '../../brand.js';
import { collectedPath } from './paths.js';

/** Everything below this directory is collected as the output of this name, declared or not. */
export const STANDING_OUTPUT = { name: 'outputs', path: `${WORK_ROOT}/outputs` } as const;

const RESERVED = `${BRAND}.`;

export const output = z
  .object({
    name: z
      .string()
      .regex(/^[a-z0-9._-]{1,64}$/, 'must match ^[a-z0-9._-]{1,64}$')
      .refine((name) => name !== '.' && name !== '..', 'must not be a relative path')
      .refine((name) => !name.startsWith(RESERVED), `the prefix ${RESERVED} is reserved`)
      .describe(`Unique in the Job. The prefix ${RESERVED} is reserved.`),
    path: collectedPath.describe('Absolute; a directory is archived as tar.zst.'),
    fromRanks: z.enum(['Zero', 'All']).optional().describe('Which ranks of a gang give it.'),
    sink: z
      .object({
        connection: z.string().min(1).optional().describe('Name of a Connection of a Postgres type.'),
        mode: z.enum(['Append', 'Replace']).default('Append').describe('What happens to rows that are there.'),
        table: z.string().min(1).optional().describe('Table that is loaded.'),
      })
      .optional()
      .describe('A database table that the output is loaded into.'),
  })
  .refine((given) => given.name !== STANDING_OUTPUT.name || isStanding(given.path), {
    path: ['name'],
    message: `'${STANDING_OUTPUT.name}' is what lies below ${STANDING_OUTPUT.path}`,
  });

export type Output = z.infer<typeof output>;

function isStanding(path: string): boolean {
  return path.replace(/\/$/, '') === STANDING_OUTPUT.path;
}
