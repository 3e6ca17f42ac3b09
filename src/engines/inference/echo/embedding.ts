/** A unit vector for a text: the same for the same text, and another for another. Pure. */
import { hash } from 'node:crypto';

/** Of all vectors of one answer together: they are made and written on the event loop, in 5 ms. */
export const MOST_VALUES = 8_192;
/** Values that one hash has: a vector of fewer costs as much. */
export const OF_A_HASH = 8;

export function embeddingOf(text: string, dimensions: number): Float32Array {
  const seed = hash('sha256', text, 'buffer');
  const more = Array.from({ length: Math.ceil(dimensions / OF_A_HASH) - 1 }, (_, at) =>
    hash('sha256', Buffer.concat([seed, Buffer.from(String(at))]), 'buffer'),
  );
  const bytes = more.length === 0 ? seed : Buffer.concat([seed, ...more]);
  const values = Array.from({ length: dimensions }, (_, at) => bytes.readInt32LE(at * 4) / 2 ** 31);
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
}
