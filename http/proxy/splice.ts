/**
 * Owns joining two connections that have left HTTP: bytes both ways, each side read only as fast as the other takes them, an
 * end of one direction passed on, and the end of both when one is gone.
 */
import type { Duplex } from 'node:stream';

/** Resolves when both are closed. `onTraffic` is called for each part that passes, either way. */
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
    // One that has said and taken everything has ended the other by the pipe; whoever goes before takes it along.
    from.once('close', () => {
      if (!from.readableEnded || !from.writableFinished) to.destroy();
    });
  }
  if (a.destroyed) b.destroy();
  if (b.destroyed) a.destroy();
  return Promise.all([closed(a), closed(b)]).then(() => undefined);
}
