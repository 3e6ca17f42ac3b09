/** How a cause reads in a message: kubectl shows the message alone. Pure. */
import type { Cause } from '../refusal.js';

/** A cause as the message of its refusal tells it; kubectl shows nothing but the message. */
export function causeLine({ field, message }: Cause): string {
  return field === '' ? message : `${field}: ${message}`;
}
