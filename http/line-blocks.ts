/**
 * Writes the lines of a log in blocks, each in a slice of the event loop (`actors/slices.ts`) and in one write: a short line costs as much as
 * a long one, and orgs take turns. Lines that have come go on at the end of the turn at the latest, so a follower waits for none.
 *
 * I10: BLOCK_LINES and BLOCK_BYTES wait, then the reader of the log waits until the client takes them.
 */
import type { Writable } from 'node:stream';
import { Outflow } from './stream.js';

const BLOCK_LINES = 100;
const BLOCK_BYTES = 64 * 1024;

/**
 * True when all lines are written, or `bytesOf` wants no more of them (undefined); false when the answer is over before that.
 * Throws what the lines throw.
 */
export async function writeLines<Line>(
  res: Writable,
  lines: AsyncIterable<Line>,
  bytesOf: (line: Line) => Uint8Array | undefined,
  nextSlice: () => Promise<void>,
): Promise<boolean> {
  const out = new Outflow(res);
  let waiting: Uint8Array[] = [];
  let blockLines = 0;
  let blockBytes = 0;
  const flush = (): void => {
    if (waiting.length > 0 && !res.writableEnded) out.write(Buffer.concat(waiting));
    waiting = [];
  };
  await nextSlice();
  for await (const line of lines) {
    if (out.closed || res.writableEnded) return false;
    const bytes = bytesOf(line);
    if (bytes === undefined) break;
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(bytes);
    blockLines += 1;
    blockBytes += bytes.length;
    if (blockLines < BLOCK_LINES && blockBytes < BLOCK_BYTES) continue;
    blockLines = 0;
    blockBytes = 0;
    flush();
    await out.drained();
    await nextSlice();
  }
  flush();
  return !out.closed && !res.writableEnded;
}
