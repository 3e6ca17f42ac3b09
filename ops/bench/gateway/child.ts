/** What the servers of the gateway measurements have in common inside of their processes: they open on loopback, say their port, and end with their parent. */
import type { Server } from 'node:http';
import { z } from 'zod';

/** The first message to such a process. */
export const opening = z.object({ upstream: z.int().optional() });
/** What it answers. */
export const opened = z.object({ port: z.int() });

/** Longer than any pause of the measurements: a connection that is closed just as it is used again would count as a failure. */
const KEEP_ALIVE_MS = 120_000;
const BACKLOG = 2_048;

/** `open` is called once, with the first message. */
export function serveProgram(open: (first: z.infer<typeof opening>) => Server): void {
  process.once('message', (message) => {
    const server = open(opening.parse(message));
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.listen({ host: '127.0.0.1', port: 0, backlog: BACKLOG }, () => {
      const address = server.address();
      if (address !== null && typeof address !== 'string') process.send?.({ port: address.port });
    });
  });
  process.once('disconnect', () => process.exit(0));
}
