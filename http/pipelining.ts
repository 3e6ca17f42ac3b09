/**
 * Serves one request at a time on a connection. A client that sends the next one before it has the answer gets that answer,
 * and then its connection ends; RFC 9112, 9.3.2 lets a server do that, and clients send the rest again.
 *
 * Why: Node parses all requests of a read at once and makes an answer for each, so that 64 KiB from a client without a
 * key would be two thousand requests in one turn of the event loop. Node stops parsing at a request that asks to leave
 * HTTP, and a pipelined request is shown to it as one of those: what stands behind it is never parsed.
 */
import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a client may still send on a connection that is about to end, bytes. */
const MAX_DISCARDED = 256 * 1024;

/** The newest answer of each connection. */
const answers = new WeakMap<Socket, ServerResponse>();

/** For `createServer`: a request that knows whether it came too early. */
export class OneAtATime extends IncomingMessage {
  // Declared only: Node's constructor sets `upgrade` before fields of this class would exist.
  declare private asked: boolean | null;
  declare early: boolean | undefined;

  // Node's parser sets it once the headers are read, and reads it before it goes on.
  get upgrade(): boolean | null {
    return this.asked;
  }

  set upgrade(asked: boolean | null) {
    this.asked = asked;
    const before = asked === null ? undefined : answers.get(this.socket);
    if (before === undefined || before.writableFinished) return;
    this.early = true;
    this.asked = true;
  }
}

/** To be called for each request that is served: until its answer is complete, the connection takes no other one. */
export function holdConnection(socket: Socket, res: ServerResponse): void {
  answers.set(socket, res);
}

/** Whether the request is a pipelined one; then its connection ends with the answer that is under way. */
export function refusePipelined(req: IncomingMessage, socket: Socket): boolean {
  if (!(req instanceof OneAtATime) || req.early !== true) return false;
  const before = answers.get(socket);
  if (before === undefined || before.destroyed) {
    socket.destroy();
    return true;
  }
  before.shouldKeepAlive = false;
  const end = (): void => socket.destroySoon();
  if (before.writableFinished) end();
  else before.once('finish', end);
  // Node has let go of the connection: what it did for the answer that is under way is done here.
  socket.on('drain', () => before.emit('drain'));
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.destroy());
  let discarded = 0;
  socket.on('data', (data: Buffer) => {
    discarded += data.length;
    if (discarded > MAX_DISCARDED) socket.destroy();
  });
  return true;
}
