/**
 * Bounds the connections of one client address on which no known key has been seen yet, so that a client without a key
 * cannot take all of the server's connections. One connection too many is closed without a word.
 *
 * I10: MAX_NEWCOMERS for each address (of IPv6: a /64). A client that connects sends its first request at once, so honest
 * clients behind one address stay far below it, however many connections they keep.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from './auth/addresses.js';

const MAX_NEWCOMERS = 2_000;

export interface Newcomers {
  /** `event`: by which the server takes connections in. */
  follow(server: Server, event: 'connection' | 'secureConnection'): void;
  /** A known key came by this connection. Harmless twice. */
  welcome(socket: Socket): void;
}

export function openNewcomers(max: number = MAX_NEWCOMERS): Newcomers {
  const counts = new Map<string, number>();
  const waiting = new WeakMap<Socket, string>();

  function leave(socket: Socket): void {
    const network = waiting.get(socket);
    if (network === undefined) return;
    waiting.delete(socket);
    const left = (counts.get(network) ?? 1) - 1;
    if (left > 0) counts.set(network, left);
    else counts.delete(network);
  }

  return {
    follow(server, event) {
      server.on(event, (socket: Socket) => {
        // One that is given back to the server after it asked for an upgrade (`upgrade.ts`).
        if (waiting.has(socket)) return;
        const network = networkOf(socket.remoteAddress ?? '');
        const count = counts.get(network) ?? 0;
        if (count >= max) {
          socket.destroy();
          return;
        }
        counts.set(network, count + 1);
        waiting.set(socket, network);
        socket.once('close', () => leave(socket));
      });
    },
    welcome: leave,
  };
}
