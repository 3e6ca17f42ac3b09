/** Refuses a malformed value of a query parameter with BadRequest: the parameter, what it must be, and how to ask instead. */
import { refuse } from '../src/api/refusal.js';

/** `rule` begins with "must"; `message` is for what clients of Kubernetes know by its words. */
export function badParameter(field: string, value: string, rule: string, fix: string, message?: string): Error {
  return refuse('BadRequest', message ?? `${field}: Invalid value: "${value.slice(0, 64)}": ${rule}`, {
    causes: [{ field, reason: 'FieldValueInvalid', message: rule }],
    fix,
  });
}
