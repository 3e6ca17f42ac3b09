/**
 * Chooses a port on loopback for a server that cannot choose a free one itself.
 *
 * It lies below those that systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of those would be taken by
 * the next program that connects to anything, between this choice and the server's start, or while that starts anew.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const LOWEST = 16_000;
const HIGHEST = 32_000;
/** Then any port at all. */
const TRIES = 20;

/** A port that was free a moment ago. Another process may take it meanwhile: be ready to try again. */
export async function freePort(): Promise<number> {
  for (let n = 0; n < TRIES; n += 1) {
    const port = await listened(randomInt(LOWEST, HIGHEST)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return listened(0);
}

function listened(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
