/** A TCP relay on a port of its own, to a port that may change, for servers that a test restarts, hides or silences. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** Ends every connection at once. */
  breakAll(): void;
  /**
   * While silent, nothing passes in either direction and nobody is told: as when packets vanish. The connections that are
   * there, and those that are made meanwhile, stay silent when it is over, as behind a firewall that has forgotten them.
   */
  silence(on: boolean): void;
  close(): Promise<void>;
}

/** Each new connection goes to the port that `target` then says. */
export async function openRelay(target: () => number): Promise<Relay> {
  const open = new Set<Socket>();
  let mute = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(target(), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => one.destroy());
      if (silent) mute.add(one);
      one.once('close', () => {
        open.delete(one);
        if (!mute.has(one)) other.destroy();
      });
      one.on('data', (data) => {
        if (!mute.has(one)) other.write(data);
      });
      one.on('end', () => {
        if (!mute.has(one)) other.end();
      });
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
    silence(on) {
      silent = on;
      if (on) mute = new Set([...mute, ...open]);
    },
    async close() {
      silent = false;
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
