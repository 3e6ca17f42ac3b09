/** A unit vector for a text: the same for the same text, and another for another. Pure. */
import { createHash } from 'node:crypto';

export function embeddingOf(text: string, dimensions: number): Float32Array {
  const seed = createHash('sha256').update(text).digest();
  const values = Array.from({ length: dimensions }, (_, at) => {
    const block = createHash('sha256').update(seed).update(String(at)).digest();
    return block.readInt32LE(0) / 2 ** 31;
  });
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
}
