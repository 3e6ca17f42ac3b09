/** What a setting of the service is. */
import type { z } from 'zod';

export interface Setting<T> {
  /** Environment variable. */
  readonly env: string;
  /** Shown beside the default: seconds, bytes, objects, path, … */
  readonly unit: string;
  /** As it would be written in the environment; undefined: unset. */
  readonly default: string | undefined;
  /** What it does and what a change of it costs. */
  readonly about: string;
  readonly schema: z.ZodType<T, string | undefined>;
  readonly secret: boolean;
}

export const setting = <T>(
  env: string,
  unit: string,
  fallback: string | undefined,
  schema: z.ZodType<T, string | undefined>,
  about: string,
): Setting<T> => ({ env, unit, default: fallback, about, schema, secret: false });

export const secret = <T>(entry: Setting<T>): Setting<T> => ({ ...entry, secret: true });
