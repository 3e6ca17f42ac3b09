/**
 * Owns answering a list whose length nobody knows before: groups of bodies are sent as they come, with back-pressure, and
 * are never held together. When the client leaves, no further group is asked for.
 */
import type { Exchange } from '../exchange.js';
import { JSON_TYPE } from '../reply.js';
import { Outflow } from '../stream.js';
import type { Rendering } from '../table/rendering.js';

/** JSON of the list's metadata: in front of the items where it is known then, else behind them. */
export type ListMeta = { readonly before: string } | { readonly after: () => string };

export async function streamList(
  x: Exchange,
  rendering: Rendering,
  groups: AsyncGenerator<readonly Buffer[]>,
  meta: ListMeta,
): Promise<void> {
  const { res } = x;
  // The first group comes before the head is sent, so that what fails at once can still be said properly.
  let next = await groups.next();
  const out = new Outflow(res);
  if (!out.closed) {
    const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-cache, private', 'x-request-id': x.requestId };
    res.writeHead(200, headers);
  }
  out.write(rendering.open('before' in meta ? meta.before : undefined));
  let first = true;
  while (next.done !== true && !out.closed) {
    if (next.value.length > 0) {
      if (!out.write(joined(next.value, rendering, first))) await out.drained();
      first = false;
    }
    if (!out.closed) next = await groups.next();
  }
  await groups.return(undefined);
  if (!out.closed) res.end(rendering.close('after' in meta ? meta.after() : undefined));
}

const COMMA = Buffer.from(',');

function joined(bodies: readonly Buffer[], rendering: Rendering, first: boolean): Buffer {
  const parts: Buffer[] = [];
  for (const body of bodies) {
    if (!first || parts.length > 0) parts.push(COMMA);
    parts.push(rendering.element(body));
  }
  return Buffer.concat(parts);
}
