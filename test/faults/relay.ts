/** A TCP relay on a port of its own, to a port that may change, for servers that a test restarts, hides or silences. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** Ends every connection at once. */
  breakAll(): void;
  /**
   * While silent, nothing passes in either direction and nobody is told: as when packets vanish. What was sent meanwhile
   * passes when it is over, as TCP would send it again. New connections are made and silent, too.
   */
  silence(on: boolean): void;
  close(): Promise<void>;
}

/** Each new connection goes to the port that `target` then says. */
export async function openRelay(target: () => number): Promise<Relay> {
  const open = new Set<Socket>();
  const held = new Set<() => void>();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(target(), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => one.destroy());
      const end = (): void => void other.destroy();
      one.once('close', () => {
        open.delete(one);
        if (silent) held.add(end);
        else end();
      });
      one.on('data', (data) => {
        if (silent) held.add(() => other.write(data));
        else other.write(data);
      });
      one.on('end', () => {
        if (silent) held.add(() => other.end());
        else other.end();
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
      if (on) return;
      for (const pass of held) pass();
      held.clear();
    },
    async close() {
      silent = false;
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
