/**
 * Owns the service's end of one command: a connection of its own to the runner, which carries frames (`runner/protocol/frames.ts`)
 * and dies with the caller's signal, by which the runner kills the command.
 *
 * Bounds (I10): output that nobody has taken yet is at most QUEUE bytes and what one read brought; then the socket is not read, which
 * stops the runner's reading and so the program. Input under way is at most STDIN_WINDOW bytes; `write` waits for room.
 */
import { setMaxListeners } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { CommandSignal, ExecEnd, Execution, ExecOrder, ExecStart } from '../engine.js';
import { encodeFrame, FRAME, FrameReader, MAX_FRAME, STDIN_WINDOW, type Frame } from '../runner/protocol/frames.js';
import { EXEC_VERSION, type Answer, type ExecAnswer, type Welcome } from '../runner/protocol/messages.js';
import { ConnectionEnded, EngineRefusal } from './refusal.js';

/** Bytes of output that wait for the reader before the socket is left unread. */
const QUEUE = 256 * 1024;
/** Time for everything until the runner says that the command starts. */
const START_MS = 20_000;
/** Bytes of the welcome and the answer together. */
const MAX_HEAD = 64 * 1024;

type Piece = { readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array };

/** Throws EngineRefusal, or the signal's reason when that comes first. */
export async function startExec(
  path: string,
  epoch: number,
  order: ExecOrder,
  signal: AbortSignal,
): Promise<ExecStart> {
  signal.throwIfAborted();
  // One signal may bound many commands; each takes its listener off again.
  setMaxListeners(0, signal);
  const socket = createConnection(path);
  // Its end is told by `close`.
  socket.on('error', () => undefined);
  const abort = (): void => {
    socket.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', abort));
  const timer = setTimeout(abort, START_MS);
  try {
    // Together: the version is known from the standing connection, and another runner would end this one.
    socket.write(`${JSON.stringify({ hello: { versions: [EXEC_VERSION], epoch } })}\n`);
    socket.write(`${JSON.stringify({ id: 1, op: 'exec', order })}\n`);
    const { answer, rest } = await readHead(socket);
    if ('refused' in answer) throw new EngineRefusal(answer.refused.code, answer.refused.message);
    if ((answer.ok as ExecAnswer).outcome === 'NotRunning') {
      socket.destroy();
      return { outcome: 'NotRunning' };
    }
    return { outcome: 'Started', execution: new SocketExecution(socket, rest, signal) };
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The two lines before the frames. The socket is paused when it resolves. */
function readHead(socket: Socket): Promise<{ readonly answer: Answer; readonly rest: Buffer }> {
  return new Promise((done, failed) => {
    let bytes: Buffer = Buffer.alloc(0);
    const lost = (): void => failed(new ConnectionEnded());
    const read = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const first = bytes.indexOf(10);
      const second = first < 0 ? -1 : bytes.indexOf(10, first + 1);
      if (second < 0) {
        if (bytes.length > MAX_HEAD) socket.destroy();
        return;
      }
      socket.pause();
      socket.removeListener('data', read);
      socket.removeListener('close', lost);
      try {
        const welcome = JSON.parse(bytes.toString('utf8', 0, first)) as Partial<Welcome>;
        if (welcome.welcome === undefined) throw new ConnectionEnded();
        done({
          answer: JSON.parse(bytes.toString('utf8', first + 1, second)) as Answer,
          rest: bytes.subarray(second + 1),
        });
      } catch {
        failed(new ConnectionEnded());
      }
    };
    socket.once('close', lost);
    socket.on('data', read);
  });
}

class SocketExecution implements Execution {
  readonly output: AsyncIterable<Piece>;
  readonly ended: Promise<ExecEnd>;
  private readonly socket: Socket;
  private readonly reader = new FrameReader();
  private readonly queue: Piece[] = [];
  private queued = 0;
  /** The reader gave up: what still comes is dropped. */
  private dropping = false;
  private end: ExecEnd | undefined;
  private tellEnd: (end: ExecEnd) => void = () => undefined;
  private wakeReader: () => void = () => undefined;
  private underWay = 0;
  private wakeWriter: () => void = () => undefined;
  /** Writes go out one after another, in the order in which they were asked for. */
  private writes: Promise<void> = Promise.resolve();

  constructor(socket: Socket, rest: Buffer, signal: AbortSignal) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      this.tellEnd = resolve;
    });
    this.output = { [Symbol.asyncIterator]: () => this.pieces() };
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.once('close', () => this.finish({ end: 'WorkGone' }, signal.aborted));
    this.read(rest);
    if (socket.destroyed) this.finish({ end: 'WorkGone' }, signal.aborted);
    else if (this.queued <= QUEUE) socket.resume();
  }

  write(data: Uint8Array): Promise<void> {
    this.writes = this.writes.then(() => this.send(data));
    return this.writes;
  }

  endInput(): void {
    this.writes = this.writes.then(() => this.frame(FRAME.endOfInput, Buffer.alloc(0)));
  }

  resize(): void {}

  signal(signal: CommandSignal): void {
    this.frame(FRAME.signal, Buffer.from(signal));
  }

  private async send(data: Uint8Array): Promise<void> {
    for (let from = 0; from < data.length; from += MAX_FRAME) {
      const part = data.subarray(from, from + MAX_FRAME);
      while (this.end === undefined && this.underWay + part.length > STDIN_WINDOW) await this.room();
      if (this.end !== undefined) return;
      this.underWay += part.length;
      this.frame(FRAME.stdin, part);
    }
  }

  private room(): Promise<void> {
    return new Promise((resolve) => {
      this.wakeWriter = resolve;
    });
  }

  private frame(type: number, data: Uint8Array): void {
    if (this.end === undefined && !this.socket.destroyed) this.socket.write(encodeFrame(type, data));
  }

  private read(chunk: Buffer): void {
    try {
      for (const frame of this.reader.read(chunk)) this.receive(frame);
    } catch {
      // Not what a runner says: the close tells of the end.
      this.socket.destroy();
    }
    if (this.queued > QUEUE) this.socket.pause();
    this.wakeReader();
  }

  private receive({ type, data }: Frame): void {
    switch (type) {
      case FRAME.stdout:
      case FRAME.stderr:
        if (this.dropping) return;
        this.queue.push({ stream: type === FRAME.stdout ? 'stdout' : 'stderr', data });
        this.queued += data.length;
        return;
      case FRAME.room:
        this.underWay -= data.readUInt32BE(0);
        this.wakeWriter();
        return;
      case FRAME.end:
        this.finish(JSON.parse(data.toString('utf8')) as ExecEnd, false);
        return;
      default:
        throw new Error('a frame that is not known');
    }
  }

  /** The first end counts. What was read before it can still be taken, unless the caller itself gave up. */
  private finish(end: ExecEnd, drop: boolean): void {
    if (drop) this.drop();
    if (this.end === undefined) {
      this.end = end;
      this.socket.destroy();
    }
    this.wakeWriter();
    this.wakeReader();
    this.tellWhenTaken();
  }

  private tellWhenTaken(): void {
    if (this.end !== undefined && this.queue.length === 0) this.tellEnd(this.end);
  }

  private drop(): void {
    this.dropping = true;
    this.queue.length = 0;
    this.queued = 0;
    this.socket.resume();
  }

  private async *pieces(): AsyncGenerator<Piece> {
    try {
      for (;;) {
        const piece = this.queue.shift();
        if (piece !== undefined) {
          this.queued -= piece.data.length;
          if (this.queued <= QUEUE / 2) this.socket.resume();
          this.tellWhenTaken();
          yield piece;
          continue;
        }
        if (this.end !== undefined) return;
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
    } finally {
      this.drop();
      this.tellWhenTaken();
    }
  }
}
