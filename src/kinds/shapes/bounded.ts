/** Owns texts and JSON values that are bounded by their bytes. */
import { z } from 'zod';
import { zMap } from '../../api/schema.js';
import { MOST_MEMBERS } from './sizes.js';

/** Text of at most so many bytes in UTF-8; `said` is how the bound is told: `64 KiB`. */
export function boundedText(bytes: number, said: string): z.ZodString {
  return z.string().check(
    z.maxLength(bytes, { abort: true }), // for the documents: a character has a byte at least
    ({ value, issues }) => {
      if (value.length * 3 <= bytes || Buffer.byteLength(value) <= bytes) return;
      issues.push({
        code: 'custom',
        input: value,
        message: `must be at most ${said}`,
        params: { reason: 'FieldValueTooLong' },
      });
    },
  );
}

/** Whether a JSON value is within so many bytes: a text as it is, anything else as it is written. */
export function isWithin(value: unknown, bytes: number): boolean {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return Buffer.byteLength(text) <= bytes;
}

/** Any JSON value of at most so many bytes. */
export function boundedJson(bytes: number, said: string): z.ZodUnknown {
  return z.unknown().check(({ value, issues }) => {
    if (isWithin(value, bytes)) return;
    issues.push({
      code: 'custom',
      input: undefined,
      message: `must be at most ${said}`,
      params: { reason: 'FieldValueTooLong' },
    });
  });
}

/** A JSON object of any members, of at most so many bytes. */
export function boundedObject(bytes: number, said: string): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return zMap(z.string(), z.unknown(), MOST_MEMBERS).check(({ value, issues }) => {
    if (isWithin(value, bytes)) return;
    issues.push({
      code: 'custom',
      input: undefined,
      message: `must be at most ${said}`,
      params: { reason: 'FieldValueTooLong' },
    });
  });
}
