/**
 * The connection of an SSH client as the library sees it: read in slices, and cut when its client has sent more than a login takes
 * without one.
 */
import type { Socket } from 'node:net';
import { SlicedConnection } from '../../src/engines/sliced-connection.js';

/** Version, two key exchanges and the keys of a full agent, several times over. */
const BEFORE_LOGIN = 64 * 1024;

export class Intake extends SlicedConnection {
  readonly remoteAddress: string | undefined;
  readonly remoteFamily: string | undefined;
  readonly remotePort: number | undefined;
  private leftBeforeLogin = BEFORE_LOGIN;

  /** `network`: the address, which takes turns here as orgs do elsewhere. */
  constructor(socket: Socket, network: string) {
    super(socket, network);
    this.remoteAddress = socket.remoteAddress;
    this.remoteFamily = socket.remoteFamily;
    this.remotePort = socket.remotePort;
  }

  /** Its client is known from here on. */
  loggedIn(): void {
    this.leftBeforeLogin = Infinity;
  }

  override push(chunk: Buffer | null): boolean {
    this.leftBeforeLogin -= chunk?.length ?? 0;
    if (this.leftBeforeLogin >= 0) return super.push(chunk);
    this.destroy();
    return false;
  }
}
