/**
 * Serves one request at a time on a connection, and one more while the answer before it is complete and on its way. A client that
 * sends the next one before it has the answer gets that answer, and then its connection ends; RFC 9112, 9.3.2 lets a server do that, and clients send the rest again.
 *
 * Why: Node parses all requests of a read at once and makes an answer for each, so that 64 KiB from a client without a
 * key would be two thousand requests in one turn of the event loop. Node stops parsing at a request that asks to leave
 * HTTP, and a pipelined request is shown to it as one of those: what stands behind it is never parsed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MeteredRequest } from './small-chunks.js';

/** What a client may still send on a connection that is about to end, bytes. */
const MAX_DISCARDED = 256 * 1024;

interface Answers {
  readonly newest: ServerResponse;
  /** The one before it, when that was still on its way. */
  readonly before: ServerResponse | undefined;
}

const answers = new WeakMap<Socket, Answers>();

/**
 * Whether the connection takes another request. A client may have all of an answer before this process hears that it was sent, so one
 * answer that is complete here may still be on its way; a second one may not, or all requests of a read would be served at once.
 */
function isFree({ newest, before }: Answers): boolean {
  return newest.writableFinished || (newest.writableEnded && (before === undefined || before.writableFinished));
}

/** For `createServer`: a request that knows whether it came too early. */
export class OneAtATime extends MeteredRequest {
  // Declared only: Node's constructor sets `upgrade` before fields of this class would exist.
  declare private asked: boolean | null;
  declare early: boolean | undefined;

  // Node's parser sets it once the headers are read, and reads it before it goes on.
  get upgrade(): boolean | null {
    return this.asked;
  }

  set upgrade(asked: boolean | null) {
    this.asked = asked;
    const given = asked === null ? undefined : answers.get(this.socket);
    if (given === undefined || isFree(given)) return;
    this.early = true;
    this.asked = true;
  }
}

/** To be called for each request that is served: until its answer is complete, the connection takes no other one. */
export function holdConnection(socket: Socket, res: ServerResponse): void {
  const last = answers.get(socket)?.newest;
  answers.set(socket, { newest: res, before: last?.writableFinished === false ? last : undefined });
}

/** Whether the request is a pipelined one; then its connection ends with the answer that is under way. */
export function refusePipelined(req: IncomingMessage, socket: Socket): boolean {
  if (!(req instanceof OneAtATime) || req.early !== true) return false;
  const before = answers.get(socket)?.newest;
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
