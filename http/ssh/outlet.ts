/**
 * What goes out by the channels of one connection, in slices: a program prints as fast as it likes, and each slice costs the event loop the
 * encryption of its packets. Connections take turns for slices by org (`slice-turns.ts`).
 *
 * A slice goes to the library when its client has taken the one before it of the same channel (its window), when the socket has sent what
 * it holds, and when no keys are being exchanged: the library writes to the socket whatever the window allows, which a client may open as
 * far as it likes, and keeps what is written during an exchange, which a client may never end.
 *
 * I10: of each channel one slice; the rest waits with its caller.
 */
import type { Duplex, Writable } from 'node:stream';
import type { Connection } from 'ssh2';
import { leaveTurn, waitForTurn, type TurnTaker } from '../../src/engines/slice-turns.js';
import { isExchangingKeys } from './library.js';

/** One packet for most clients, eight of the smallest. */
export const OUTPUT_SLICE = 32 * 1024;

export class Outlet {
  private readonly client: Connection;
  private readonly socket: Duplex;
  private readonly org: string;
  /** They wait for the socket, or for the end of an exchange of keys. */
  private readonly held = new Set<TurnTaker>();

  constructor(client: Connection, socket: Duplex, org: string) {
    this.client = client;
    this.socket = socket;
    this.org = org;
    const goOn = (): void => {
      for (const taker of this.held) waitForTurn(taker);
      this.held.clear();
    };
    client.on('handshake', goOn);
    socket.on('drain', goOn);
  }

  /** Resolves when there is room for more; false when the channel takes no more. `gone` ends the wait. */
  async write(channel: Writable, data: Uint8Array, gone: AbortSignal): Promise<boolean> {
    for (let at = 0; at < data.length; at += OUTPUT_SLICE) {
      if (!(await this.writeSlice(channel, data.subarray(at, at + OUTPUT_SLICE), gone))) return false;
    }
    return !gone.aborted && channel.writable;
  }

  private writeSlice(channel: Writable, slice: Uint8Array, gone: AbortSignal): Promise<boolean> {
    if (gone.aborted || !channel.writable) return Promise.resolve(false);
    const { client, socket, held } = this;
    return new Promise((resolve) => {
      const taker: TurnTaker = {
        group: this.org,
        passSlice() {
          if (socket.writableNeedDrain || isExchangingKeys(client)) {
            held.add(taker);
            return;
          }
          socket.cork();
          channel.write(slice, done);
          socket.uncork();
        },
      };
      const done = (): void => {
        gone.removeEventListener('abort', done);
        leaveTurn(taker);
        held.delete(taker);
        resolve(!gone.aborted && channel.writable);
      };
      gone.addEventListener('abort', done, { once: true });
      waitForTurn(taker);
    });
  }
}
