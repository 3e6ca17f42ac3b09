/** Reads the body of a refusal as JSON: bounded by what the upstream's connection lets through (64 KiB) and by time. */
import type { UpstreamAnswer } from './upstream.js';

const MOST_MS = 2_000;

/** `read`: what the dialect reads out of it. Undefined: no JSON, broken off, or too slow. Never rejects, and leaves nothing open. */
export async function readErrorBody<T>(
  answer: Extract<UpstreamAnswer, { outcome: 'Answered' }>,
  read: (body: unknown) => T | undefined,
  mostMs = MOST_MS,
): Promise<T | undefined> {
  const late = setTimeout(() => answer.discard(), mostMs);
  try {
    const parts: Buffer[] = [];
    for await (const part of answer.body) parts.push(part);
    return read(JSON.parse(Buffer.concat(parts).toString('utf8')));
  } catch {
    return undefined;
  } finally {
    clearTimeout(late);
  }
}
