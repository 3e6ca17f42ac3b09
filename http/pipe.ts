/** Moves bytes between connections that speak no HTTP, with back-pressure: a side is read only as fast as the other one takes it. */
import { once } from 'node:events';
import type { Duplex, Writable } from 'node:stream';

/**
 * Joins two connections both ways. The end of one direction is passed on, and when one connection is gone, both end.
 * Resolves when both are closed. `onTraffic` is called for each part that passes, either way.
 */
export function pipeBothWays(a: Duplex, b: Duplex, onTraffic: () => void): Promise<void> {
  const closed = (stream: Duplex): Promise<void> =>
    stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', () => resolve()));
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('data', onTraffic);
    from.pipe(to);
    from.on('error', () => to.destroy());
    // After a clean end in both directions the pipe has ended the other side already.
    from.once('close', () => {
      if (!from.readableEnded || !from.writableFinished) to.destroy();
    });
  }
  if (a.destroyed) b.destroy();
  if (b.destroyed) a.destroy();
  return Promise.all([closed(a), closed(b)]).then(() => undefined);
}

/**
 * Writes one piece to a channel of SSH. Resolves when there is room for more: the client has opened its window for this
 * piece, and the socket has sent what it holds; false when the channel takes no more. `gone` ends the wait.
 *
 * Why: the library writes to the socket whatever the window allows, and a client may open it as far as it likes.
 */
export async function writeWithinWindow(
  to: Writable,
  data: Uint8Array,
  socket: Duplex,
  gone: AbortSignal,
): Promise<boolean> {
  if (gone.aborted || !to.writable) return false;
  let stop: (() => void) | undefined;
  await new Promise<void>((resolve) => {
    stop = () => resolve();
    gone.addEventListener('abort', stop, { once: true });
    to.write(data, stop);
  });
  if (stop) gone.removeEventListener('abort', stop);
  if (socket.writableNeedDrain && !gone.aborted) {
    await once(socket, 'drain', { signal: gone }).catch(() => undefined);
  }
  return !gone.aborted && to.writable;
}
