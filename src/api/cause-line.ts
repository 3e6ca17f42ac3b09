/** How a cause is told in the message of its refusal. Without any package: the proxy process, which has none, answers with it as well. */
import type { Cause } from './refusal.js';

/** kubectl shows nothing but the message. */
export function causeLine({ field, message }: Cause): string {
  return field === '' ? message : `${field}: ${message}`;
}
