/** Checks the parts of requests that are not API objects: bodies of calls, options, reports of progress. */
import type { z } from 'zod';
import { causesOf, TELLING } from '../src/api/causes.js';
import { causeLine } from '../src/api/errors/cause-line.js';
import { refuse } from '../src/api/refusal.js';
import { compileShape, type Shape } from '../src/api/shape.js';
import { tooMany } from '../src/api/sizes.js';

const shapes = new WeakMap<z.ZodType, Shape>();

function shapeOf(schema: z.ZodType): Shape {
  let shape = shapes.get(schema);
  if (shape === undefined) shapes.set(schema, (shape = compileShape(schema)));
  return shape;
}

/** The value as the schema has it. Throws Invalid with a cause for each field; `what` is the subject of the message. */
export function readInput<Input>(schema: z.ZodType<Input>, value: unknown, what = 'the request is'): Input {
  const long = tooMany(shapeOf(schema), value);
  const read = long.length > 0 ? undefined : schema.safeParse(value, TELLING);
  if (read?.success === true) return read.data;
  const causes = read === undefined ? long : causesOf(read.error.issues, value, '');
  throw refuse('Invalid', `${what} not valid: ${causes.map(causeLine).join('; ')}`, { causes });
}
