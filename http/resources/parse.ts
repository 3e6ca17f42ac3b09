/**
 * What a request body may be: its content type, and its parsing into one plain value with the paths of members
 * that were given twice. The parsers themselves (JSON and YAML, prototype-safe, surrogate-safe) are `src/api`'s.
 */
import type { z } from 'zod';
import { duplicateField } from '../../src/api/causes.js';
import { causeLine } from '../../src/api/errors/cause-line.js';
import { parseBody, parseListBody } from '../../src/api/json.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { Bodies } from '../body.js';
import type { Exchange } from '../exchange.js';
import { readInput } from '../input.js';

export interface ParsedBody {
  readonly value: Record<string, unknown>;
  /** Paths of duplicate members. */
  readonly duplicates: readonly string[];
}

/**
 * The media type in lower case, without parameters; `application/json` when none is given, as kube-apiserver reads it. Refuses a charset
 * that is not UTF-8, in which every body is read.
 */
export function mediaType(x: Exchange, fallback: string): string {
  const header = x.req.headers['content-type'];
  if (header === undefined || header === '') return fallback;
  const end = header.indexOf(';');
  const charset = end < 0 ? undefined : /;\s*charset="?([^";\s]*)/i.exec(header)?.[1];
  if (charset !== undefined && !UTF8.test(charset)) {
    throw refuse('UnsupportedMediaType', `the charset "${charset.slice(0, 64)}" is not supported; bodies are UTF-8`, {
      fix: 'Encode the body as UTF-8 and leave the charset out.',
    });
  }
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** ASCII is a part of it. */
const UTF8 = /^(?:utf-?8|us-ascii)$/i;

export function unknownFormat(accepted: readonly string[]): Error {
  return refuse(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    { fix: `Send the header "Content-Type: ${accepted[0] ?? 'application/json'}".` },
  );
}

const OBJECT_TYPES = ['application/json', 'application/yaml'];

/** The parsed members of a JSON body that must be an object. */
export function parseRecord(body: Buffer): ParsedBody {
  const parsed = parseBody(body, 'json');
  if (parsed.outcome === 'Refused') throw new RefusalError(parsed.refusal);
  return parsed;
}

/** A body that must be a list (a JSON patch). */
export function parseList(body: Buffer): readonly unknown[] {
  const parsed = parseListBody(body, 'json');
  if (parsed.outcome === 'Refused') throw new RefusalError(parsed.refusal);
  return parsed.value;
}

/** An object's body, JSON or YAML by its content type: create, replace, delete options. */
export async function parseObject(x: Exchange, bodies: Bodies, body: Buffer): Promise<ParsedBody> {
  const type = mediaType(x, 'application/json');
  if (!OBJECT_TYPES.includes(type)) throw unknownFormat(OBJECT_TYPES);
  if (type !== 'application/yaml') return parseRecord(body);
  const parsed = await bodies.readYaml(x.caller?.org ?? '', body);
  if (parsed.outcome === 'Refused') throw new RefusalError(parsed.refusal);
  return parsed;
}

/** The body of a call, which is no API object: a field that the call does not know is refused, and so is one that is given twice. */
export async function readBody<Input>(
  x: Exchange,
  bodies: Bodies,
  body: Buffer,
  schema: z.ZodType<Input>,
): Promise<Input> {
  const { value, duplicates } = await parseObject(x, bodies, body);
  if (duplicates.length > 0) {
    const causes = duplicates.map(duplicateField);
    throw refuse('Invalid', `the request is not valid: ${causes.map(causeLine).join('; ')}`, { causes });
  }
  return readInput(schema, value);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
