/**
 * One connection to a runner: the hello, requests matched to answers by id, events handed on. It lives once: when the
 * socket ends, everything that waits is refused as Unavailable and `closed` resolves; `link.ts` makes the next one.
 */
import { setMaxListeners } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { LineReader } from '../../../runner/protocol/lines.js';
import {
  MAX_LINE,
  PROTOCOL_VERSIONS,
  type Answer,
  type Event,
  type Request,
  type Welcome,
} from '../../../runner/protocol/messages.js';
import { ConnectionEnded, EngineRefusal } from '../shared/refusal.js';

/** Time for connect and hello together. */
const HELLO_MS = 5_000;

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;
export type Ask = WithoutId<Request>;

interface Waiter {
  readonly done: (ok: unknown) => void;
  readonly failed: (error: Error) => void;
}

export class Connection {
  readonly welcome: Welcome['welcome'];
  readonly closed: Promise<void>;
  private readonly socket: Socket;
  private readonly waiting = new Map<number, Waiter>();
  private next = 1;
  private over = false;

  private constructor(
    socket: Socket,
    welcome: Welcome['welcome'],
    reader: LineReader,
    onEvent: (event: Event) => void,
  ) {
    this.socket = socket;
    this.welcome = welcome;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) this.receive(message as Answer | Event, onEvent);
      } catch {
        // Not a runner, or one whose words we cannot read: the link begins anew.
        socket.destroy();
      }
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.over = true;
        const error = new ConnectionEnded();
        for (const waiter of this.waiting.values()) waiter.failed(error);
        this.waiting.clear();
        resolve();
      });
    });
  }

  /** Throws the socket's error (ENOENT, ECONNREFUSED: nobody is there), or one that says what went wrong in the hello. */
  static open(
    path: string,
    epoch: number,
    onEvent: (event: Event) => void,
    versions: readonly number[] = PROTOCOL_VERSIONS,
  ): Promise<Connection> {
    return new Promise((done, failed) => {
      const socket = createConnection(path);
      const reader = new LineReader(MAX_LINE);
      const timer = setTimeout(() => socket.destroy(new Error('the runner did not answer the hello')), HELLO_MS);
      const fail = (error: Error): void => {
        clearTimeout(timer);
        failed(error);
      };
      socket.once('error', fail);
      socket.once('close', () => fail(new Error('the runner ended the connection')));
      socket.once('connect', () => socket.write(`${JSON.stringify({ hello: { versions, epoch } })}\n`));
      socket.on('data', (chunk: Buffer) => {
        const [message] = reader.read(chunk) as [Partial<Welcome>?];
        if (message === undefined) return;
        clearTimeout(timer);
        socket.removeListener('error', fail);
        socket.removeAllListeners('close');
        socket.on('error', () => undefined);
        if (message.welcome === undefined) {
          socket.destroy();
          failed(new Error('this is no runner'));
        } else done(new Connection(socket, message.welcome, reader, onEvent));
      });
    });
  }

  async ask(request: Ask, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (this.over) throw new ConnectionEnded();
    const id = this.next++;
    // One signal may bound many requests; each takes its listener off again.
    setMaxListeners(0, signal);
    return new Promise((done, failed) => {
      const abort = (): void => {
        this.waiting.delete(id);
        failed(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.waiting.set(id, {
        done: (ok) => {
          signal.removeEventListener('abort', abort);
          done(ok);
        },
        failed: (error) => {
          signal.removeEventListener('abort', abort);
          failed(error);
        },
      });
      this.socket.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(message: Answer | Event, onEvent: (event: Event) => void): void {
    if ('event' in message) return onEvent(message);
    const waiter = this.waiting.get(message.id);
    // An answer to an aborted request.
    if (waiter === undefined) return;
    this.waiting.delete(message.id);
    if ('refused' in message) waiter.failed(new EngineRefusal(message.refused.code, message.refused.message));
    else waiter.done(message.ok);
  }
}
