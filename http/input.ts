/** Owns the check of what a request says that is no object of the API: the body of a call, options, a report of progress. */
import type { z } from 'zod';
import { causeLine, causesOf } from '../src/api/causes.js';
import { refuse } from '../src/api/refusal.js';

/** The value as the schema has it. Throws Invalid with a cause for each field; `what` is the subject of the message. */
export function readInput<Input>(schema: z.ZodType<Input>, value: unknown, what = 'the request is'): Input {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const causes = causesOf(read.error.issues, value, '');
  throw refuse('Invalid', `${what} not valid: ${causes.map(causeLine).join('; ')}`, { causes });
}
