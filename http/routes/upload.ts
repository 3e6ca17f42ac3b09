/** Takes a body as a stream: the headers that such a body cannot have, the end of an upload that brings nothing, and of its connection when it fails. */
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { Exchange } from '../exchange.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import type { ServerContext } from '../server-context.js';

/** An upload that brings nothing for this long is cut, ms. It may take as long as it likes otherwise. */
const IDLE_MS = 60_000;

/** `take` gets the bytes, which throw when the client breaks off, and their number where it is promised. It answers. */
export async function takeBody(
  x: Exchange,
  context: ServerContext,
  allows: (caller: Caller) => boolean,
  take: (body: AsyncIterator<Uint8Array>, length: number | undefined) => Promise<void>,
): Promise<void> {
  refuseIdempotencyKey(x, 'a streamed body takes no Idempotency-Key: sent again, it leaves the same files');
  if (x.header('content-encoding') !== undefined) {
    throw refuse('UnsupportedMediaType', 'content-encoding is not supported: the bytes are taken as they are sent', {
      fix: 'Send the body as it is, without the header Content-Encoding.',
    });
  }
  const promised = x.header('content-length');
  const release = context.streams.add(x, { allows, end: () => undefined });
  x.req.setTimeout(IDLE_MS, () => x.req.destroy());
  try {
    const body = x.req.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
    await take(body, promised === undefined ? undefined : Number(promised));
  } catch (error) {
    // What is left of the body is not read: the connection ends with the answer.
    if (!x.res.headersSent) x.res.setHeader('connection', 'close');
    throw error;
  } finally {
    release();
  }
}
