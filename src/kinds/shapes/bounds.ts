/**
 * Bounds of lists, maps, texts and free JSON in a spec, where the specification names none for the kind itself. Every list and map that a
 * client writes has one: an object is read, checked, stored and sent to every watcher as a whole (I10).
 */
import { z } from 'zod';
import { zMap } from '../../api/schema.js';

/** Variables of one environment. Source: spec, "Limits". */
export const MOST_ENV = 256;

/** Words of one command line. */
export const MOST_ARGUMENTS = 4096;

/** Names of other objects, and of regions, in one list. */
export const MOST_NAMES = 256;

/** Connections of work that may have many; a Workspace has at most 4. */
export const MOST_CONNECTIONS = 32;

export const MOST_INPUTS = 256;
export const MOST_SIDECARS = 32;
export const MOST_VOLUMES = 64;

/** Labels of one object, and labels that one selector names. */
export const MOST_LABELS = 1024;

/** Requirements of one selector, and values of one requirement. */
export const MOST_REQUIREMENTS = 64;
export const MOST_VALUES = 256;

/** Members of free JSON, which is bounded by its bytes as well. */
export const MOST_MEMBERS = 1024;

/** Text of at most so many bytes in UTF-8; `bound` is how a message writes it: `64 KiB`. */
export function boundedText(bytes: number, bound: string): z.ZodString {
  return z.string().check(
    z.maxLength(bytes, { abort: true }), // for the documents: a character has a byte at least
    ({ value, issues }) => {
      if (value.length * 3 <= bytes || Buffer.byteLength(value) <= bytes) return;
      issues.push(tooLong(bound, value));
    },
  );
}

/** Whether a JSON value is within so many bytes: a text as it is, anything else as it is written. */
export function isWithin(value: unknown, bytes: number): boolean {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return Buffer.byteLength(text) <= bytes;
}

/** Any JSON value of at most so many bytes. */
export function boundedJson(bytes: number, bound: string): z.ZodUnknown {
  return z.unknown().check(({ value, issues }) => {
    if (isWithin(value, bytes)) return;
    issues.push(tooLong(bound));
  });
}

/** A JSON object of any members, of at most so many bytes. */
export function boundedObject(bytes: number, bound: string): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return zMap(z.string(), z.unknown(), MOST_MEMBERS).check(({ value, issues }) => {
    if (isWithin(value, bytes)) return;
    issues.push(tooLong(bound));
  });
}

function tooLong(bound: string, input?: string): z.core.ParsePayload['issues'][number] {
  return { code: 'custom', input, message: `must be at most ${bound}`, params: { reason: 'FieldValueTooLong' } };
}
