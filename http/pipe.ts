/** Moves bytes between connections that speak no HTTP, with back-pressure: a side is read only as fast as the other one takes it. */
import type { Duplex } from 'node:stream';

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
