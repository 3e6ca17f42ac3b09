/** Refuses a new credential that would end later than the one it is made with: otherwise its holder would keep access past that end. Pure. */
import type { Refusal } from '../refusal.js';
import { rfc3339 } from '../time.js';
import type { Author } from './author.js';

/** Why `by` may not make a credential that ends at `expires` (ms; undefined: never), as `field` of `what` asks; undefined: it may. */
export function outlives(
  by: Author,
  expires: number | undefined,
  { field, what, fix }: { readonly field: string; readonly what: string; fix(end: string): string },
): Refusal | undefined {
  if (by.expires === undefined || (expires !== undefined && expires <= by.expires)) return undefined;
  const end = rfc3339(by.expires);
  const message = `must not be later than ${end}, when the credential that you use ends`;
  const reason = expires === undefined ? 'FieldValueRequired' : 'FieldValueInvalid';
  return {
    code: 'Invalid',
    message: `${what} is invalid: ${field}: ${message}`,
    causes: [{ field, message, reason }],
    fix: `${fix(end)} Or use a credential that does not end before that.`,
  };
}
