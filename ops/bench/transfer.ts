/**
 * Sends and receives large bodies by a client that costs next to nothing, for the reason that `client.ts` names: it sends the same
 * bytes again and again, and reads into the same buffer.
 */
import type { Socket } from 'node:net';
import { HEAD_END, headOf, openSocket, type Head } from './client.js';
import type { Service } from './service.js';

const CHUNK = Buffer.alloc(1024 * 1024, 'what an agent would send: text, mostly. ');
/** A head is shorter. */
const MOST_HEAD = 64 * 1024;

export interface Transferred {
  readonly status: number;
  /** Of the answer's body. */
  readonly bytes: number;
}

/**
 * One request with so many bytes of body on a connection of its own, to the last byte of its answer, whose length must be told. Rejects
 * when it is cut short or takes longer than `mostMs`.
 */
export async function transfer(
  service: Service,
  method: string,
  path: string,
  bytes: number,
  mostMs: number,
): Promise<Transferred> {
  let head: Buffer = Buffer.alloc(0);
  let answer: Head | undefined;
  let taken = 0;
  const socket = await openSocket(service.port, (part) => {
    if (answer !== undefined) {
      taken += part.length;
      return;
    }
    head = Buffer.concat([head, part]);
    const end = head.indexOf(HEAD_END);
    if (end < 0 && head.length > MOST_HEAD) socket.destroy();
    if (end < 0) return;
    answer = headOf(head.toString('latin1', 0, end));
    taken = head.length - end - HEAD_END.length;
  });
  // The service closes the connection behind its answer, as it is asked to.
  const closed = new Promise<void>((done) => {
    socket.once('close', () => done());
    socket.once('error', () => undefined);
  });
  const timer = setTimeout(() => socket.destroy(), mostMs);
  const headers = { Connection: 'close', ...(bytes === 0 ? {} : { 'Content-Length': String(bytes) }) };
  socket.write(service.request(method, path, undefined, headers));
  pour(socket, bytes);
  await closed;
  clearTimeout(timer);
  if (answer === undefined || taken !== answer.length)
    throw new Error(`${method} ${path} was cut short at ${taken} bytes`);
  return { status: answer.status, bytes: taken };
}

function pour(socket: Socket, bytes: number): void {
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      const part = CHUNK.subarray(0, Math.min(left, CHUNK.length));
      left -= part.length;
      if (socket.write(part)) continue;
      socket.once('drain', more);
      return;
    }
  };
  more();
}
