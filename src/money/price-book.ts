/**
 * The price book: what capacity, storage, image builds and models cost. It has a version, and what a version says never changes: work is
 * charged by the version that it was admitted with, and each version that was ever in use is kept. Pure.
 */
import { z } from 'zod';
import { causesOf, TELLING } from '../api/causes.js';
import { zUsd } from '../api/schema.js';
import { readYaml } from '../api/yaml.js';

/** A price in the book: exact, at most nine decimals. */
const price = (description: string): z.ZodType<string, string> => zUsd({ description });

const NONE = '0.00';

const holdSeconds = (description: string) => z.int().min(1).max(3600).default(60).describe(description);

/** By the hour for the whole of it, for what is asked of it, or both. */
const offeringPrice = z.strictObject({
  perHourUSD: price('An hour of it, whatever is asked for.').default(NONE),
  perCpuHourUSD: price('An hour of one CPU.').default(NONE),
  perGiBMemoryHourUSD: price('An hour of one GiB of memory.').default(NONE),
  incrementSeconds: z.int().min(1).max(3600).default(1).describe('Billed time is rounded up to whole increments.'),
  minimumUSD: price('Smallest charge of one Attempt.').default(NONE),
  holdSeconds: holdSeconds('Time that is held at once, from the create on, and again with each renewal.'),
  reserveSeconds: holdSeconds(
    'Time that is held beside it for a graceful end. What an end takes longer is not charged.',
  ),
});

const modelPrice = z.strictObject({
  inputPerMillionTokensUSD: price('A million tokens of input.').optional(),
  outputPerMillionTokensUSD: price('A million tokens of output.').optional(),
  cacheReadPerMillionTokensUSD: price('A million tokens read from the cache.').optional(),
  cacheWritePerMillionTokensUSD: price('A million tokens written to the cache.').optional(),
  longCacheWritePerMillionTokensUSD: price(
    'A million tokens written to the cache for longer than five minutes; as other writes when unset.',
  ).optional(),
  audioPerSecondUSD: price('A second of audio.').optional(),
  audioMinimumSeconds: z.number().min(0).optional().describe('Seconds of audio that are charged at least.'),
  speechPerMillionCharactersUSD: price('A million characters that are spoken.').optional(),
});

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/, 'must be a name');

const schema = z.strictObject({
  pricebookVersion: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
      'must be 1 to 63 letters, digits, dots, underscores or hyphens, in quotes, for example "2026-01"',
    ),
  offerings: z.record(name, offeringPrice),
  storage: z.strictObject({ perGiBMonthUSD: price('A month of one GiB.') }),
  images: z.strictObject({ perBuildMinuteUSD: price('A minute of a build.') }),
  models: z.record(name, modelPrice),
});

export type OfferingPrice = Readonly<z.infer<typeof offeringPrice>>;
export type ModelPrice = Readonly<z.infer<typeof modelPrice>>;

export interface PriceBook {
  readonly version: string;
  /** By the name of the Offering. */
  readonly offerings: Readonly<Record<string, OfferingPrice>>;
  readonly storage: { readonly perGiBMonthUSD: string };
  readonly images: { readonly perBuildMinuteUSD: string };
  /** By the name of the Model. */
  readonly models: Readonly<Record<string, ModelPrice>>;
}

/** Everything is free: where nothing is charged, as in tests of other things. */
export const FREE_BOOK: PriceBook = {
  version: 'none',
  offerings: {},
  storage: { perGiBMonthUSD: NONE },
  images: { perBuildMinuteUSD: NONE },
  models: {},
};

export type PriceBookResult =
  | { readonly outcome: 'Read'; readonly book: PriceBook }
  /** A line for each fault: the field, the reason and the next step. */
  | { readonly outcome: 'Invalid'; readonly lines: readonly string[] };

/** Reads a book from its text, which is YAML. */
export function parsePriceBook(text: string): PriceBookResult {
  const read = readYaml(text);
  if (read.outcome !== 'Read') return { outcome: 'Invalid', lines: [read.problem.replace('the body', 'the file')] };
  if (read.duplicates.length > 0) {
    return {
      outcome: 'Invalid',
      lines: read.duplicates.map((field) => `${field}: stands there twice. Leave one of the two.`),
    };
  }
  const parsed = schema.safeParse(read.value, TELLING);
  if (!parsed.success) {
    return {
      outcome: 'Invalid',
      lines: parsed.error.issues.flatMap((issue) => linesOf(issue, read.value)),
    };
  }
  const { pricebookVersion, ...prices } = parsed.data;
  return { outcome: 'Read', book: { version: pricebookVersion, ...prices } };
}

/** Of messages that do not say themselves what would fit. A number in YAML is no text. */
const FIXES: Readonly<Record<string, string>> = {
  FieldValueRequired: '. Add it.',
  FieldValueTypeInvalid: '. Write amounts and the version in quotes, such as "0.01".',
};

function linesOf(issue: z.core.$ZodIssue, value: unknown): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const at = issue.path.map((part) => `${String(part)}.`).join('');
    return issue.keys.map((key) => `${at}${key}: there is no such field. Remove it, or correct its name.`);
  }
  return causesOf([issue], value, '').map(
    ({ field, message, reason }) => `${field === '' ? 'the file' : field}: ${message}${FIXES[reason] ?? ''}`,
  );
}

/** The Offerings of `wanted` that the book has no price for, a line for each. */
export function checkOfferings({ offerings }: PriceBook, wanted: readonly string[]): readonly string[] {
  return wanted
    .filter((offering) => !Object.hasOwn(offerings, offering))
    .map((offering) => `offerings.${offering}: has no price. Add one; perHourUSD: "0.00" makes it free.`);
}
