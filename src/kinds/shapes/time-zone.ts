/** Owns names of time zones, as the IANA database has them. */
import { z } from 'zod';

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

export const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be a time zone such as Europe/Vienna')
  .meta({ example: 'Europe/Vienna' });

function isTimeZone(text: string): boolean {
  if (!NAME.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
