/**
 * The way from a body's bytes to a plain value, for JSON and YAML, and every reason to refuse those bytes.
 *
 * What comes out is safe for the rest of the service: valid UTF-8, at most 64 levels deep, every number finite, every
 * string storable as Postgres text (no U+0000, no lone surrogates), and no member named `__proto__`. `constructor` and
 * `prototype` are ordinary names here: they come out as own members, and nobody looks up inherited ones.
 * Does not own the size limit of a body, nor what its fields mean. No refusal quotes a value: it may be a secret (I11).
 */
import { isUtf8 } from 'node:buffer';
import { measure, placeOf, scan } from './json-scan.js';
import type { Refusal } from './refusal.js';
import { findUnsafe, isObject, MAX_DEPTH, MAX_VALUES, TOO_MANY_VALUES } from './safe-value.js';
import { MAX_YAML_BYTES, readYaml } from './yaml.js';

export type BodyType = 'json' | 'yaml';

interface Parsed<Value> {
  readonly outcome: 'Parsed';
  readonly value: Value;
  /** Paths of members that an object names more than once; the last one counts. */
  readonly duplicates: readonly string[];
}

interface Refused {
  readonly outcome: 'Refused';
  readonly refusal: Refusal;
}

/** A body that has to be an object: every resource, merge patch and options body. */
export function parseBody(bytes: Buffer, type: BodyType): Parsed<Record<string, unknown>> | Refused {
  const parsed = parseAny(bytes, type);
  if (parsed.outcome === 'Refused') return parsed;
  const { value } = parsed;
  if (isObject(value)) return { outcome: 'Parsed', value, duplicates: parsed.duplicates };
  return refused(`the body must be an object, not ${nameOf(value)}`);
}

/** A body that has to be a list: JSON patches. */
export function parseListBody(bytes: Buffer, type: BodyType): Parsed<readonly unknown[]> | Refused {
  const parsed = parseAny(bytes, type);
  if (parsed.outcome === 'Refused') return parsed;
  const { value } = parsed;
  if (Array.isArray(value)) return { outcome: 'Parsed', value, duplicates: parsed.duplicates };
  return refused(`the body must be a list of operations, not ${nameOf(value)}`);
}

function parseAny(bytes: Buffer, type: BodyType): Parsed<unknown> | Refused {
  if (!isUtf8(bytes)) return refused('the body is not valid UTF-8');
  const text = bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0);
  if (text.trim() === '') return refused('the body is empty');
  return type === 'json' ? parseJson(text, bytes) : parseYaml(text, bytes.length);
}

const NONE: readonly string[] = [];

function parseJson(text: string, bytes: Buffer): Parsed<unknown> | Refused {
  const { members, values, depth } = measure(bytes);
  if (depth > MAX_DEPTH) return malformed(text);
  if (values > MAX_VALUES) return tooLarge(`${TOO_MANY_VALUES}, and this has ${values}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return malformed(text);
  }
  const kept = countMembers(value);
  if (Number.isNaN(kept) || mayBeUnsafe(text)) {
    const found = findUnsafe(value);
    if (found !== undefined) return unsafe(found);
  }
  return { outcome: 'Parsed', value, duplicates: kept === members ? NONE : duplicatesOf(text) };
}

function tooLarge(message: string): Refused {
  return { outcome: 'Refused', refusal: { code: 'RequestEntityTooLarge', message } };
}

function duplicatesOf(text: string): readonly string[] {
  const result = scan(text, MAX_DEPTH);
  return result.outcome === 'Valid' ? result.duplicates : NONE;
}

function malformed(text: string): Refused {
  const result = scan(text, MAX_DEPTH);
  if (result.outcome === 'Valid') return refused('the body is not valid JSON');
  return refused(`the body is not valid JSON: ${placeOf(text, result.offset)}: ${result.problem}`);
}

/** Only escapes can bring in what valid UTF-8 cannot hold, so most bodies are cleared by two searches. */
function mayBeUnsafe(text: string): boolean {
  return text.includes('\\u') || text.includes('__proto__');
}

/** Members of all objects in the value; NaN when there is a number that is not finite (`1e999`). The depth is bounded. */
function countMembers(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN;
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    // By index: an iterator for each of a million empty lists costs more than they do.
    for (let at = 0; at < value.length; at++) {
      const element: unknown = value[at];
      if (typeof element === 'object' ? element !== null : typeof element === 'number') count += countMembers(element);
    }
  } else if (isObject(value)) for (const key in value) count += 1 + countMembers(value[key]);
  return count;
}

function parseYaml(text: string, size: number): Parsed<unknown> | Refused {
  if (size > MAX_YAML_BYTES) {
    return {
      outcome: 'Refused',
      refusal: {
        code: 'RequestEntityTooLarge',
        message: `a YAML body may have at most ${MAX_YAML_BYTES} bytes, and this has ${size}`,
        fix: 'Send it as JSON.',
      },
    };
  }
  const read = readYaml(text);
  if (read.outcome === 'Malformed') return refused(read.problem);
  if (read.outcome === 'TooLarge') return tooLarge(read.problem);
  const found = findUnsafe(read.value);
  if (found !== undefined) return unsafe(found);
  return { outcome: 'Parsed', value: read.value, duplicates: read.duplicates };
}

function startsWithMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function refused(message: string): Refused {
  return { outcome: 'Refused', refusal: { code: 'BadRequest', message } };
}

function unsafe({ field, flaw }: NonNullable<ReturnType<typeof findUnsafe>>): Refused {
  const causes = [{ field, reason: 'FieldValueInvalid', message: flaw }];
  return { outcome: 'Refused', refusal: { code: 'BadRequest', message: `${field || 'the body'}: ${flaw}`, causes } };
}
