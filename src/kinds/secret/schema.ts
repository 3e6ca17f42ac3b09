/**
 * The fields of a Secret as they are written. What is stored keeps `type` alone; see `values.ts`.
 * No message of a check repeats a value (I11). Source: spec, "Secret".
 */
import { z } from 'zod';
import { zMap, zTimestamp } from '../../api/schema.js';

/**
 * Stands for a value that nobody may read: "keep what this key has". A patch sees it for every current key, and
 * `kubectl apply`'s note of what was applied holds it instead of values. It is no base64, so it can be no value.
 */
export const KEPT_VALUE = '<kept>';

/** Keys are file names under /run/secrets/. */
const KEY = /^[-._A-Za-z0-9]{1,253}$/;
const MOST_KEYS = 256;

export function isSecretKey(key: string): boolean {
  return KEY.test(key) && key !== '.' && key !== '..';
}

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Names every bad key, and a bad value by its key. */
function checkMap(isValue: (value: string) => boolean, complaint: string) {
  return (context: z.core.ParsePayload<Record<string, string>>): void => {
    const values = context.value;
    // No issue carries its input: it would be shown.
    const complain = (path: string[], message: string): void => {
      context.issues.push({ code: 'custom', path, message, input: undefined });
    };
    for (const key of Object.keys(values).slice(0, MOST_KEYS)) {
      if (!isSecretKey(key)) {
        complain([key], "a key must consist of alphanumeric characters, '-', '_' or '.', at most 253 of them");
      } else if (!isValue(values[key] ?? '')) {
        complain([key], complaint);
      }
    }
  };
}

export const secretSpec = z.object({
  data: zMap(z.string(), z.string(), MOST_KEYS)
    .check(checkMap((value) => value === KEPT_VALUE || isBase64(value), 'must be base64'))
    .optional()
    .describe(
      `Values in base64; write-only. In a merge patch, keys that are not named keep their values and null removes one. "${KEPT_VALUE}" keeps the value of that key.`,
    ),
  stringData: zMap(z.string(), z.string(), MOST_KEYS)
    .check(checkMap(() => true, ''))
    .optional()
    .describe('Plain strings, merged over data; write-only.'),
  type: z
    .enum(['Opaque', 'Registry'])
    .default('Opaque')
    .describe(
      'Opaque: any keys. Registry: credentials for pulling images, as `.dockerconfigjson` or `username`, `password` and perhaps `registry`. Immutable.',
    ),
});

export const secretStatus = z.object({
  keys: z.array(z.string()).optional().describe('Keys of the current version.'),
  lastUsedTime: zTimestamp('When it was last mounted.').optional(),
  phase: z.enum(['Ready', 'Failed']).optional().describe('Failed: the values could not be encrypted.'),
  reason: z.string().optional().describe('Why it is in this phase.'),
  version: z.int32().optional().describe('The current version; new Attempts pin it.'),
  versions: z
    .array(
      z.object({
        createTime: zTimestamp('When it was written.'),
        version: z.int32().describe('Number of the version, from 1.'),
        createdBy: z.string().optional().describe('Who wrote it.'),
        keys: z.array(z.string()).optional().describe('Keys of the version.'),
      }),
    )
    .max(10)
    .optional()
    .describe('Newest first.'),
});

export type SecretSpec = z.infer<typeof secretSpec>;
export type SecretStatus = z.infer<typeof secretStatus>;

/** What the machine keeps beside the status: sizes in bytes by key, since kept values cannot be measured again. */
export interface SecretSizes {
  readonly sizes: Readonly<Record<string, number>>;
}
