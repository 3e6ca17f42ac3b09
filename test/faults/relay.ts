/** Owns a TCP relay on a port of its own, to a port that may change, for servers that a test restarts or hides. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** Ends every connection at once. */
  breakAll(): void;
  close(): Promise<void>;
}

/** Each new connection goes to the port that `target` then says. */
export async function openRelay(target: () => number): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target(), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => one.destroy());
      one.once('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const breakAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    breakAll,
    async close() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
