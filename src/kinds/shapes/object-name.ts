/** Owns the form of a field that names another object. That the object exists is for admission (`references.ts`). */
import type { z } from 'zod';
import { zName } from '../../api/schema.js';

/** `what`: a sentence, such as "Name of a Secret in the project." */
export function objectName(what: string): z.ZodType<string, string> {
  return zName().describe(what);
}
