/**
 * The file that names the upstreams (`TROUPE_UPSTREAMS`): where models are served, by which key, and how much of what goes where. A file that
 * does not fit is refused whole, with a line for each fault. Pure: the keys that it names are read by `upstream-keys.ts`, and no message
 * repeats what may be one (I11).
 */
import { z } from 'zod';
import { causesOf, TELLING } from '../../api/causes.js';
import { parseDuration } from '../../api/duration.js';
import { readYaml } from '../../api/yaml.js';
import type { PriceBook } from '../../money/price-book.js';
import { DIALECTS } from './dialects/dialect.js';
import { mayBeFixed } from './fixed-headers.js';

/** The Model that the embedded upstream serves. */
export const ECHO_MODEL = 'echo';

export const TOKENIZERS = ['o200k_base', 'cl100k_base'] as const;
export type TokenizerName = (typeof TOKENIZERS)[number];

const MOST_UPSTREAMS = 256;
const MOST_MODELS = 256;
const SECOND = 1_000;

const wait = (fallback: number) =>
  z
    .string()
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms !== undefined && ms >= 10 && ms <= 3_600 * SECOND) return ms;
      context.addIssue('must be a duration between 10ms and 1h, such as 60s');
      return z.NEVER;
    })
    .default(fallback);

const baseURL = z
  .string()
  .max(2048)
  .refine(isBase, 'must be an http:// or https:// URL without credentials, query and fragment');

function isBase(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` === '' && !/[?#]$/.test(text);
}

const key = z.union([
  z.strictObject({
    env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable, such as OPENAI_API_KEY')
      .refine(
        (text) => !text.startsWith('TROUPE_'),
        'must not begin with TROUPE_, which names settings of the service',
      ),
  }),
  z.strictObject({ file: z.string().min(1).max(4096) }),
]);

const header = z
  .string()
  .regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/i, 'must be the name of a header')
  .refine(mayBeFixed, 'is set by the service; name another header, and the key in `key`');

const model = z.strictObject({
  name: z.string().min(1).max(253),
  as: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible characters')
    .optional(),
  tokenizer: z.enum(TOKENIZERS).optional(),
  thinking: z.enum(['budget', 'adaptive']).default('budget'),
});

const upstream = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,63}$/, 'must be 1 to 63 of a-z, 0-9 and -'),
  dialect: z.enum(DIALECTS),
  baseURL,
  key: key.optional(),
  headers: z
    .record(header, z.string().regex(/^[\x20-\x7e]{1,4096}$/, 'must be 1 to 4096 printable characters'))
    .default({}),
  class: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be a word such as External')
    .default('External'),
  priority: z.int().min(0).max(1000).default(0),
  weight: z.int().min(1).max(1000).default(1),
  fetchImages: z.boolean().optional(),
  maxTokens: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  maxConcurrent: z.int().min(1).max(10_000).default(256),
  timeouts: z
    .strictObject({ connect: wait(5 * SECOND), firstByte: wait(120 * SECOND), idle: wait(60 * SECOND) })
    .prefault({}),
  models: z.array(model).min(1).max(MOST_MODELS),
});

const schema = z.strictObject({
  echo: z.boolean().optional(),
  upstreams: z.array(upstream).max(MOST_UPSTREAMS).default([]),
});

export type UpstreamEntry = Readonly<z.infer<typeof upstream>>;
export type KeyReference = z.infer<typeof key>;

export interface UpstreamsFile {
  /** Whether the embedded upstream serves Model `echo`. */
  readonly echo: boolean;
  readonly upstreams: readonly UpstreamEntry[];
}

/** What the file is checked against. */
export interface Catalog {
  /** Names of all Models. */
  readonly models: ReadonlySet<string>;
  readonly book: PriceBook;
}

export type UpstreamsFileResult =
  | { readonly outcome: 'Read'; readonly file: UpstreamsFile }
  /** A line for each fault: the field, the reason and the next step. */
  | { readonly outcome: 'Invalid'; readonly lines: readonly string[] };

/** What holds without a file. The embedded upstream serves only a Model that there is, at a price that there is. */
export function withoutFile(catalog: Catalog): UpstreamsFile {
  return { echo: canEcho(catalog), upstreams: [] };
}

function canEcho({ models, book }: Catalog): boolean {
  return models.has(ECHO_MODEL) && Object.hasOwn(book.models, ECHO_MODEL);
}

/** Reads the file from its text, which is YAML. */
export function parseUpstreams(text: string, catalog: Catalog): UpstreamsFileResult {
  const read = readYaml(text);
  if (read.outcome !== 'Read') return invalid([read.problem.replace('the body', 'the file')]);
  if (read.duplicates.length > 0) {
    return invalid(read.duplicates.map((field) => `${field}: stands there twice. Leave one of the two.`));
  }
  const parsed = schema.safeParse(read.value, TELLING);
  if (!parsed.success) return invalid(parsed.error.issues.flatMap((issue) => linesOf(issue, veiled(read.value))));
  const { echo, upstreams } = parsed.data;
  const lines = [...checkNames(upstreams), ...upstreams.flatMap((entry, at) => checkModels(entry, at, catalog))];
  if (echo === true) lines.push(...lacking(ECHO_MODEL, 'echo', catalog));
  if (lines.length > 0) return invalid(lines);
  return { outcome: 'Read', file: { echo: echo ?? canEcho(catalog), upstreams } };
}

function checkNames(upstreams: readonly UpstreamEntry[]): readonly string[] {
  return upstreams.flatMap(({ name }, at) =>
    upstreams.findIndex((other) => other.name === name) < at
      ? [`upstreams[${at}].name: ${name} names another upstream too. Give this one another name.`]
      : [],
  );
}

function checkModels({ models }: UpstreamEntry, upstreamAt: number, catalog: Catalog): readonly string[] {
  return models.flatMap(({ name }, at) => {
    const field = `upstreams[${upstreamAt}].models[${at}].name`;
    if (models.findIndex((other) => other.name === name) < at) {
      return [`${field}: ${name} stands in this upstream twice. Leave one of the two.`];
    }
    return lacking(name, field, catalog);
  });
}

/** A model is served only when people can see it, and when it is known what it costs. */
function lacking(name: string, field: string, { models, book }: Catalog): readonly string[] {
  if (!models.has(name)) {
    return [`${field}: there is no Model ${name}. Add it to models.yaml of the catalog, or correct the name.`];
  }
  if (Object.hasOwn(book.models, name)) return [];
  return [`${field}: Model ${name} has no price. Add models.${name} to the price book; {} makes it free.`];
}

/** Of messages that do not say themselves what would fit. */
const FIXES: Readonly<Record<string, string>> = {
  FieldValueRequired: '. Add it.',
};

function linesOf(issue: z.core.$ZodIssue, value: unknown): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const at = issue.path.map((part) => `${String(part)}.`).join('');
    return issue.keys.map((name) => `${at}${name}: there is no such field. Remove it, or correct its name.`);
  }
  return causesOf([issue], value, '').map(
    ({ field, message, reason }) => `${field === '' ? 'the file' : field}: ${message}${FIXES[reason] ?? ''}`,
  );
}

/** Messages show short values only; so much text in place of another is never shown. */
const VEIL = '*'.repeat(200);

/** The file without what may be a key: everything in `key` and `headers`, and URLs. */
function veiled(value: unknown, hide = false): unknown {
  if (typeof value === 'string') return hide ? VEIL : value;
  if (Array.isArray(value)) return value.map((item) => veiled(item, hide));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]): [string, unknown] => [
      name,
      veiled(member, hide || name === 'key' || name === 'headers' || name === 'baseURL'),
    ]),
  );
}

function invalid(lines: readonly string[]): UpstreamsFileResult {
  return { outcome: 'Invalid', lines };
}
