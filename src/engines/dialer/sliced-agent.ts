/**
 * Connections of the guarded dialer: TLS over a socket that is read in slices, since the server at its other end is a user's choice. Only
 * an address that was checked gets a byte.
 */
import { Agent, type RequestOptions } from 'node:https';
import { connect as connectSocket, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { SlicedConnection } from '../sliced-connection.js';

/** What the dialer gives with each request, beside Node's own options. */
export interface Checked {
  /** The only ones that may be dialled. */
  readonly addresses: readonly string[];
  /** Answers with them for any name. */
  readonly lookup: LookupFunction;
}

export class SlicedAgent extends Agent {
  override createConnection(options: RequestOptions & Partial<Checked>): Duplex | null | undefined {
    const { addresses = [], lookup, host, port } = options;
    const name = host ?? '';
    const socket = connectSocket({
      host: name,
      port: Number(port ?? 443),
      allowHalfOpen: true,
      ...(lookup && { lookup }),
    });
    socket.setNoDelay(true);
    socket.once('connect', () => {
      // Cannot happen while `lookup` is honoured.
      if (!addresses.some((address) => isSame(address, socket.remoteAddress)))
        socket.destroy(new Error('the connection went to another address'));
    });
    return super.createConnection({ ...options, socket: new SlicedConnection(socket, name) } as RequestOptions);
  }
}

function isSame(checked: string, actual: string | undefined): boolean {
  return actual === checked || actual === `::ffff:${checked}`;
}
