/** Schedules in the form of cron (five fields, or a word such as @daily) and names of time zones. When they fall due is not computed here. */
import { z } from 'zod';

const WORDS: ReadonlySet<string> = new Set([
  '@hourly',
  '@daily',
  '@midnight',
  '@weekly',
  '@monthly',
  '@yearly',
  '@annually',
]);

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface Field {
  readonly min: number;
  readonly max: number;
  /** Names for the values from `min` on. */
  readonly names?: readonly string[];
}

/** Minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). */
const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 7, names: DAYS },
];

const LONGEST = 256;

export const cronSchedule = z
  .string()
  .max(LONGEST)
  .refine(isCron, 'must be five fields of cron, such as "0 9 * * 1-5", or a word such as @daily')
  .meta({ example: '0 9 * * 1-5' });

function isCron(text: string): boolean {
  if (WORDS.has(text)) return true;
  const fields = text.trim().split(/\s+/);
  return fields.length === FIELDS.length && FIELDS.every((field, index) => isField(fields[index] ?? '', field));
}

// `*`, `5`, `1-5`, `*/15`, `1-30/2`, and lists of them.
function isField(text: string, field: Field): boolean {
  return text.split(',').every((part) => {
    const [range = '', step, more] = part.split('/');
    if (more !== undefined || (step !== undefined && !isStep(step, field))) return false;
    if (range === '*') return true;
    const [first = '', last, beyond] = range.split('-');
    const from = valueOf(first, field);
    if (from === undefined || beyond !== undefined) return false;
    // A step from one value on would be read differently by different crons.
    if (last === undefined) return step === undefined;
    const to = valueOf(last, field);
    return to !== undefined && from <= to;
  });
}

function isStep(text: string, { max }: Field): boolean {
  return /^[1-9][0-9]?$/.test(text) && Number(text) <= max;
}

function valueOf(text: string, { min, max, names }: Field): number | undefined {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + min;
  if (!/^[0-9]{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

export const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be a time zone such as Europe/Vienna')
  .meta({ example: 'Europe/Vienna' });

function isTimeZone(text: string): boolean {
  if (!ZONE_NAME.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
