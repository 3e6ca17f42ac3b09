/**
 * Owns what a value from outside may be made of, so that it can be stored, served and merged: strings that Postgres text
 * can hold (no U+0000, no lone surrogates), finite numbers, a bounded depth, and no member named `__proto__`.
 * Complaints give the path and never the value, which may be a secret (I11).
 */
import { below } from './path.js';

/** Kinds nest about 12 levels; free-form JSON inside them is given the rest. Recursion over values relies on it. */
export const MAX_DEPTH = 64;

const LONE_SURROGATE = /\p{Surrogate}/u;
// eslint-disable-next-line no-control-regex -- it is what is taken out
const UNFIT = /[\0\p{Surrogate}]/gu;

/** What makes a value unfit to be stored, as a sentence; undefined when nothing does. The depth must be bounded already. */
export function findUnsafe(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return complain(path, 'the text has', unfit(value));
  if (typeof value === 'number' || typeof value === 'bigint') {
    return complain(path, 'the number is', Number.isFinite(Number(value)) ? undefined : 'too large');
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      const problem = findUnsafe(element, below(path, index));
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return complain(path, 'a member must not be named', key);
    const problem = complain(path, 'the name of a member has', unfit(key)) ?? findUnsafe(member, below(path, key));
    if (problem !== undefined) return problem;
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

function complain(path: string, words: string, flaw: string | undefined): string | undefined {
  return flaw === undefined ? undefined : `${path || 'the body'}: ${words} ${flaw}`;
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
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member, limit, level + 1));
  return deepest;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
