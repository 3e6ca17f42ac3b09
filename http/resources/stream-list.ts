/**
 * Answering a list whose length nobody knows before: groups of bodies are sent as they come, with back-pressure, and are
 * never held together. When the client leaves, no further group is asked for.
 */
import type { Exchange } from '../exchange.js';
import { LongAnswer, type Begins } from '../long-answer.js';
import { JSON_TYPE } from '../reply.js';
import type { Rendering } from '../table/rendering.js';

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
  try {
    let head = rendering.open('before' in meta ? meta.before : undefined);
    for await (const group of groups) {
      if (answer.closed) return;
      if (group.length === 0) continue;
      await answer.write(joined(group, rendering, head));
      head = '';
    }
    await answer.end(head + rendering.close('after' in meta ? meta.after() : undefined));
  } catch (error) {
    answer.abandon();
    throw error;
  }
}

const COMMA = Buffer.from(',');

/** `head`: what stands before the first element of all. */
function joined(bodies: readonly Buffer[], rendering: Rendering, head: string): Buffer {
  const parts: Buffer[] = [];
  for (const body of bodies) parts.push(COMMA, rendering.element(body));
  if (head !== '') parts[0] = Buffer.from(head);
  return Buffer.concat(parts);
}
