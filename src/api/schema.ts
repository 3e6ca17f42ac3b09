/**
 * The zod builders for the value formats that all kinds share (spec, "Conventions" 2). Each keeps the text as the
 * client wrote it, checks it exactly, and carries what OpenAPI needs. Complaints are in the words of field causes
 * (`causes.ts` puts the bad value before them).
 */
import { Decimal } from 'decimal.js';
import { z } from 'zod';
import { DURATION_PATTERN, LONGEST, parseDuration, readDuration } from './duration.js';
import {
  checkLabelName,
  checkSubdomainName,
  LABEL_NAME_PATTERN,
  MAX_LABEL,
  MAX_SUBDOMAIN,
  SUBDOMAIN_NAME_PATTERN,
} from './names.js';
import { parseBytes, parseMilliCpu, parseQuantity, QUANTITY_PATTERN } from './quantity.js';
import { parseTime } from './time.js';
import { LARGEST_USD, parseUsd, USD_PATTERN, USD_STEP } from './usd.js';

type Check = (text: string) => string | undefined;

/** A string with one check. The check answers the complaint, or undefined. */
function checked(check: Check, meta: Readonly<Record<string, unknown>>): z.ZodType<string, string> {
  return z
    .string()
    .check((ctx) => {
      const complaint = check(ctx.value);
      // It is still text, so rules over several fields can be held beside it: one answer tells everything.
      if (complaint === undefined) return;
      ctx.issues.push({ code: 'custom', message: complaint, input: ctx.value, continue: true });
    })
    .meta(meta);
}

/** A map of at most so many members. */
export function zMap<Key extends z.core.$ZodRecordKey, Value extends z.core.SomeType>(
  key: Key,
  value: Value,
  most: number,
): z.ZodRecord<Key, Value> {
  return z
    .record(key, value)
    .check(({ value: map, issues }) => {
      if (Object.keys(map).length <= most) return;
      issues.push({ code: 'too_big', origin: 'map', maximum: most, input: undefined });
    })
    .meta({ maxProperties: most });
}

export interface DurationRule {
  /** `1m`; inclusive. `0s` when absent. */
  readonly min?: string | undefined;
  /** 100 years when absent. */
  readonly max?: string | undefined;
  /** Words accepted beside the range, such as `auto` or `0s`. */
  readonly also?: readonly string[] | undefined;
  readonly description?: string | undefined;
}

export function zDuration(rule: DurationRule = {}): z.ZodType<string, string> {
  const also = rule.also ?? [];
  const { min: least = '0s', max: most = LONGEST } = rule;
  const min = known(parseDuration(least), least);
  const max = known(parseDuration(most), most);
  const said = sayRange(least, most) + also.map((word) => `, or ${word}`).join('');
  const words = also.filter((word) => parseDuration(word) === undefined);
  return checked(
    (text) => {
      if (also.includes(text)) return undefined;
      const ms = parseDuration(text);
      if (ms === undefined) return `must be a duration such as 30s, 15m or 1h30m${said}`;
      if (readDuration(text) === undefined) return `must be a duration in whole milliseconds${said}`;
      return ms < min || ms > max ? `must be a duration${said}` : undefined;
    },
    {
      format: 'duration',
      pattern: words.length === 0 ? DURATION_PATTERN : `${DURATION_PATTERN}|^(${words.join('|')})$`,
      description: describe(rule.description, `Duration with unit suffixes (ms, s, m, h), for example 15m${said}.`),
    },
  );
}

export interface QuantityRule {
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  /** Also zero, below `min`. */
  readonly orZero?: true | undefined;
  readonly description?: string | undefined;
}

/** A Kubernetes quantity. A bare JSON number is taken too, as Kubernetes does, and kept as text. */
export function zQuantity(rule: QuantityRule = {}): z.ZodType<string> {
  return quantity(rule, 'a quantity such as 500m, 2 or 10Gi', (text) => parseQuantity(text)?.toNumber());
}

/** Cores, to the thousandth. */
export function zCpu(rule: QuantityRule = {}): z.ZodType<string> {
  return quantity(rule, 'a number of cores such as 500m, 1.5 or 4', parseMilliCpu, 'at most 9007199254740 cores');
}

/** Bytes, for memory and disk. */
export function zBytes(rule: QuantityRule = {}): z.ZodType<string> {
  return quantity(rule, 'a number of bytes such as 512Mi or 10Gi', parseBytes, 'less than 8Pi');
}

/** `most`: what is said of one that is larger than can be counted exactly. */
function quantity(
  rule: QuantityRule,
  noun: string,
  read: (text: string) => number | undefined,
  most?: string,
): z.ZodType<string> {
  const min = rule.min === undefined ? 0 : known(read(rule.min), rule.min);
  const max = rule.max === undefined ? Number.POSITIVE_INFINITY : known(read(rule.max), rule.max);
  const said = sayRange(rule.min, rule.max);
  const text = checked(
    (value) => {
      const amount = read(value);
      if (amount === undefined && most !== undefined && parseQuantity(value) !== undefined) return `must be ${most}`;
      if (amount === 0 && rule.orZero === true) return undefined;
      return amount === undefined || amount < min || amount > max ? `must be ${noun}${said}` : undefined;
    },
    {
      format: 'quantity',
      pattern: QUANTITY_PATTERN,
      description: describe(rule.description, `Quantity: ${noun}${said}.`),
    },
  );
  return z.preprocess((value) => (typeof value === 'number' ? String(value) : value), text);
}

export interface UsdRule {
  /** Inclusive; `0` when absent. */
  readonly min?: string | undefined;
  /** The largest amount that there is when absent. */
  readonly max?: string | undefined;
  /** Exclusive lower bound. */
  readonly above?: string | undefined;
  /** At most two decimals. */
  readonly wholeCents?: boolean | undefined;
  readonly description?: string | undefined;
}

export function zUsd(rule: UsdRule = {}): z.ZodType<string, string> {
  const step = new Decimal(rule.wholeCents === true ? '0.01' : USD_STEP);
  // What is above a bound begins one step beyond it.
  const least = rule.above === undefined ? (rule.min ?? '0') : new Decimal(rule.above).plus(step).toFixed();
  const { max: most = LARGEST_USD } = rule;
  const [min, max, places] = [new Decimal(least), new Decimal(most), step.decimalPlaces()];
  const said = `${sayRange(least, most)} ${rule.wholeCents === true ? 'in whole cents' : `with at most ${places} decimals`}`;
  return checked(
    (text) => {
      const amount = parseUsd(text);
      const good = amount !== undefined && amount.gte(min) && amount.lte(max) && amount.decimalPlaces() <= places;
      return good ? undefined : `must be an amount in USD as a decimal string such as 12.50${said}`;
    },
    { format: 'decimal', pattern: USD_PATTERN, description: describe(rule.description, `Amount in USD${said}.`) },
  );
}

export interface NameRule {
  /** `label`: at most 63 characters without dots; `subdomain`: at most 253. */
  readonly form?: 'label' | 'subdomain' | undefined;
  readonly description?: string | undefined;
}

/** The name of an object. */
export function zName(rule: NameRule = {}): z.ZodType<string, string> {
  const label = rule.form === 'label';
  return checked(label ? checkLabelName : (name) => checkSubdomainName(name), {
    pattern: label ? LABEL_NAME_PATTERN : SUBDOMAIN_NAME_PATTERN,
    maxLength: label ? MAX_LABEL : MAX_SUBDOMAIN,
    description: describe(rule.description, 'Name of an object.'),
  });
}

export function zTimestamp(description?: string): z.ZodType<string, string> {
  return checked(
    (text) => (parseTime(text) === undefined ? 'must be an RFC 3339 time such as 2026-01-02T03:04:05Z' : undefined),
    { format: 'date-time', description: describe(description, 'RFC 3339 time.') },
  );
}

const LONGEST_PATH = 4096;
/** `.` or `..` between slashes. */
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/;

export function zAbsolutePath(description?: string): z.ZodType<string, string> {
  return checked(
    (text) => {
      if (!text.startsWith('/')) return 'must be an absolute path';
      if (text.length > LONGEST_PATH) return `must be no more than ${LONGEST_PATH} characters`;
      if (text.includes('\0')) return 'must not contain a NUL character';
      return DOTS.test(text) ? "must not have '.' or '..' as a part" : undefined;
    },
    { pattern: '^/', maxLength: LONGEST_PATH, description: describe(description, 'Absolute path.') },
  );
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

export function zDigest(description?: string): z.ZodType<string, string> {
  return checked((text) => (DIGEST.test(text) ? undefined : 'must be sha256: and 64 lower case hexadecimal digits'), {
    pattern: DIGEST.source,
    description: describe(description, 'SHA-256 digest: sha256:<64 hexadecimal digits>.'),
  });
}

function sayRange(min: string | undefined, max: string | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function describe(own: string | undefined, general: string): string {
  return own === undefined ? general : `${own} ${general}`;
}

/** A bound that a kind's schema names must itself be readable; this fails while the process starts, not for a client. */
function known(value: number | undefined, text: string): number {
  if (value === undefined) throw new TypeError(`${text} is no bound of this format`);
  return value;
}
