/**
 * Owns the choice of a port on loopback for a server that cannot be told to take any free one.
 */
import { createServer } from 'node:net';

/** A port that was free a moment ago. Another process may take it meanwhile: be ready to try again. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
