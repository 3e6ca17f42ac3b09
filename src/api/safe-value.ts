/**
 * What a value from outside may be made of, so that it can be stored, served and merged: strings that Postgres text
 * can hold (no U+0000, no lone surrogates), finite numbers, a bounded depth, and no member named `__proto__`.
 * Complaints give the path and never the value, which may be a secret (I11).
 */
import { fieldPath } from './path.js';

/** Kinds nest about 12 levels; free-form JSON inside them is given the rest. Recursion over values relies on it. */
export const MAX_DEPTH = 64;

/**
 * Members of all objects and elements of all lists of one body. Each costs up to a microsecond on its way (it is parsed,
 * compared, managed, written down), and 3 MiB have room for a million and a half. The largest Pipeline that anybody writes
 * has a tenth of it.
 */
export const MAX_VALUES = 50_000;
export const TOO_MANY_VALUES = `the body may have at most ${MAX_VALUES} members of objects and elements of lists`;

const LONE_SURROGATE = /\p{Surrogate}/u;
// eslint-disable-next-line no-control-regex -- it is what is taken out
const UNFIT = /[\0\p{Surrogate}]/gu;

/** Where a value is unfit to be stored, and what makes it so; undefined when nothing does. The depth must be bounded already. */
export function findUnsafe(value: unknown): { readonly field: string; readonly flaw: string } | undefined {
  const found = find(value);
  return found === undefined ? undefined : { field: fieldPath('', found.keys), flaw: found.flaw };
}

/** `keys` lead to it; they are put together on the way back, since nearly all values have no flaw. */
interface Found {
  readonly flaw: string;
  readonly keys: (string | number)[];
}

function find(value: unknown): Found | undefined {
  if (typeof value === 'string') return flawed('the text has', unfit(value));
  if (typeof value === 'number' || typeof value === 'bigint') {
    return flawed('the number is', Number.isFinite(Number(value)) ? undefined : 'too large');
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = find(value[index]);
      if (found !== undefined) return within(found, index);
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return flawed('a member must not be named', key);
    const named = flawed('the name of a member has', unfit(key));
    if (named !== undefined) return named;
    const found = find(Reflect.get(value, key));
    if (found !== undefined) return within(found, key);
  }
  return undefined;
}

/**
 * The value with every text in it as it can be stored: U+FFFD for U+0000 and for lone surrogates, which a cut leaves in the middle of a
 * character. For what engines and programs say, which nobody could be asked to say in another way.
 */
export function toStorable<T>(value: T): T {
  return storable(value) as T;
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return unfit(value) === undefined ? value : value.replaceAll(UNFIT, '\ufffd');
  if (Array.isArray(value)) return value.map(storable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [storable(key), storable(member)]));
}

function within(found: Found, key: string | number): Found {
  found.keys.unshift(key);
  return found;
}

function flawed(words: string, flaw: string | undefined): Found | undefined {
  return flaw === undefined ? undefined : { flaw: `${words} ${flaw}`, keys: [] };
}

function unfit(text: string): string | undefined {
  if (text.includes('\0')) return 'the character U+0000, which cannot be stored';
  return LONE_SURROGATE.test(text) ? 'a lone surrogate, which is no Unicode character' : undefined;
}

/** Levels of the value; stops one level above the limit, so that its own recursion is bounded. */
export function depthOf(value: unknown, limit: number, level = 1): number {
  if (typeof value !== 'object' || value === null) return level - 1;
  if (level > limit) return level;
  let deepest = level;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) deepest = Math.max(deepest, depthOf(value[at], limit, level + 1));
  } else {
    for (const key in value) deepest = Math.max(deepest, depthOf(Reflect.get(value, key), limit, level + 1));
  }
  return deepest;
}

/** What a value is made of; see MAX_VALUES and MAX_DEPTH. */
export interface Extent {
  readonly values: number;
  readonly depth: number;
}

/** Stops as soon as one of both is beyond its bound, so that the walk is bounded, too: aliases of YAML make much of little. */
export function extentOf(value: unknown, most: Extent): Extent {
  let values = 0;
  let deepest = 0;
  const visit = (one: unknown, level: number): void => {
    if (typeof one !== 'object' || one === null) return;
    deepest = Math.max(deepest, level);
    const members: readonly unknown[] = Array.isArray(one) ? one : Object.values(one);
    values += members.length;
    for (let at = 0; at < members.length && deepest <= most.depth && values <= most.values; at++) {
      visit(members[at], level + 1);
    }
  };
  visit(value, 1);
  return { values, depth: deepest };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
