/**
 * The lean HTTP/1.1 client of the benchmarks: keep-alive over plain sockets, one request at a time per connection,
 * no headers parsed but the two that say how long a body is. The load generator shares two cores with what it
 * measures, so what it does not do counts as much as what it does.
 */
import { connect, type Socket } from 'node:net';

export type OnReply = (status: number, body: Buffer) => void;
export type OnBroken = (error: Error) => void;

export interface Connection {
  /** Sends one request; the reply before it must have come. One of the two is called, once. */
  send(request: Buffer, onReply: OnReply, onBroken: OnBroken): void;
  /** False once either side has closed it. */
  isOpen(): boolean;
  close(): void;
}

type State =
  | { readonly in: 'head' }
  /** Bytes of the body (or of this chunk, with its line end) still to come. */
  | { readonly in: 'body'; left: number }
  | { readonly in: 'chunk'; left: number }
  | { readonly in: 'chunk size' }
  | { readonly in: 'trailer' };

export const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const NOTHING = Buffer.alloc(0);

export async function openConnection(port: number): Promise<Connection> {
  const socket = await openSocket(port);
  let pending: Buffer = NOTHING;
  let state: State = { in: 'head' };
  let status = 0;
  let parts: Buffer[] = [];
  let waiting: { readonly onReply: OnReply; readonly onBroken: OnBroken } | undefined;

  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let more = waiting !== undefined;
    while (more) more = step() && waiting !== undefined;
  });
  socket.on('error', broken);
  socket.on('close', () => broken(new Error('the service closed a connection')));

  function broken(error: Error): void {
    waiting?.onBroken(error);
    waiting = undefined;
  }

  /** Takes one piece from what has come; false when more has to come first. */
  function step(): boolean {
    switch (state.in) {
      case 'head': {
        const end = pending.indexOf(HEAD_END);
        if (end < 0) return false;
        const head = headOf(pending.toString('latin1', 0, end));
        pending = pending.subarray(end + 4);
        status = head.status;
        state = head.chunked ? { in: 'chunk size' } : { in: 'body', left: head.length };
        return state.in === 'chunk size' || state.left > 0 ? true : finish();
      }
      case 'body':
        return take(state) ? finish() : false;
      case 'chunk size': {
        const end = pending.indexOf(LINE_END);
        if (end < 0) return false;
        const size = Number.parseInt(pending.toString('latin1', 0, end), 16);
        pending = pending.subarray(end + 2);
        state = size === 0 ? { in: 'trailer' } : { in: 'chunk', left: size + 2 };
        return true;
      }
      case 'chunk':
        if (!take(state)) return false;
        state = { in: 'chunk size' };
        return true;
      default: {
        const end = pending.indexOf(LINE_END);
        if (end < 0) return false;
        pending = pending.subarray(end + 2);
        return finish();
      }
    }
  }

  function take(body: { readonly in: string; left: number }): boolean {
    const part = pending.subarray(0, body.left);
    pending = pending.subarray(part.length);
    body.left -= part.length;
    // The line end of a chunk is not content.
    const over = body.in === 'chunk' ? Math.max(0, Math.min(part.length, 2 - body.left)) : 0;
    parts.push(part.subarray(0, part.length - over));
    return body.left === 0;
  }

  function finish(): boolean {
    const body = parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
    parts = [];
    state = { in: 'head' };
    const asked = waiting;
    waiting = undefined;
    asked?.onReply(status, body);
    return true;
  }

  return {
    send(request, onReply, onBroken) {
      waiting = { onReply, onBroken };
      if (socket.destroyed) broken(new Error('the service has closed the connection'));
      else socket.write(request);
    },
    isOpen: () => !socket.destroyed,
    close() {
      waiting = undefined;
      socket.destroy();
    },
  };
}

export interface Head {
  readonly status: number;
  /** Bytes of the body, where it is not chunked. */
  readonly length: number;
  readonly chunked: boolean;
}

/** From the first lines of an answer, up to the empty one. */
export function headOf(text: string): Head {
  const head = text.toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  const chunked = length === undefined && head.includes('\r\ntransfer-encoding: chunked');
  return { status: Number(head.slice(9, 12)), length: Number(length ?? 0), chunked };
}

/** Shared by all readers: what comes is taken before the next read, and 1,000 sockets make no garbage. */
const readBuffer = Buffer.alloc(256 * 1024);

/** With `onBytes` the socket has no 'data': bytes are handed over as they are read, and are good until it returns. */
export function openSocket(port: number, onBytes?: (bytes: Buffer) => void): Promise<Socket> {
  return new Promise((done, fail) => {
    const onread = onBytes && {
      buffer: readBuffer,
      callback(length: number): boolean {
        onBytes(readBuffer.subarray(0, length));
        return true;
      },
    };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(onread && { onread }) });
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      done(socket);
    });
  });
}
