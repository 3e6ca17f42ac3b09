/**
 * Answering a list whose length nobody knows before: groups of bodies are sent as they come, with back-pressure, and no
 * more than WRITE_BYTES and one group are held together. When the client leaves, no further group is asked for.
 */
import type { Exchange } from '../exchange.js';
import { LongAnswer, type Begins } from '../long-answer.js';
import { JSON_TYPE } from '../reply.js';
import type { Rendering } from '../table/rendering.js';

/** Written at once, of however many groups: the system's part of a write costs as much as rendering what is in it. */
const WRITE_BYTES = 512 * 1024;

/** JSON of the list's metadata: in front of the items where it is known then, else behind them. */
export type ListMeta = { readonly before: string } | { readonly after: () => string };

export async function streamList(
  x: Exchange,
  rendering: Rendering,
  groups: AsyncIterable<readonly Buffer[]>,
  meta: ListMeta,
  begins: Begins = 'WhenLong',
): Promise<void> {
  const answer = new LongAnswer(x, { 'content-type': JSON_TYPE, 'cache-control': 'no-cache, private' }, begins);
  let separator = Buffer.from(rendering.open('before' in meta ? meta.before : undefined));
  let parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const group of groups) {
      if (answer.closed) return;
      for (const body of group) {
        const element = rendering.element(body);
        parts.push(separator, element);
        bytes += separator.length + element.length;
        separator = COMMA;
      }
      if (bytes === 0 || (bytes < WRITE_BYTES && begins === 'WhenLong')) continue;
      await answer.write(Buffer.concat(parts, bytes));
      parts = [];
      bytes = 0;
    }
    if (separator !== COMMA) parts.push(separator);
    parts.push(Buffer.from(rendering.close('after' in meta ? meta.after() : undefined)));
    await answer.end(Buffer.concat(parts));
  } catch (error) {
    answer.abandon();
    throw error;
  }
}

const COMMA = Buffer.from(',');
