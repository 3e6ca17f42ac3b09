/**
 * Opens a connection that carries one command or port: hello and request in one go, and the answer. It dies with the
 * caller's signal for as long as it lives.
 */
import { setMaxListeners } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { Answer, Request, Welcome } from '../../../runner/protocol/messages.js';
import { ConnectionEnded, EngineRefusal } from '../shared/refusal.js';

/** Where a runner is, and what it speaks: known from the standing connection. */
export interface RunnerAddress {
  readonly path: string;
  readonly version: number;
  readonly epoch: number;
}

export interface OpenedStream {
  /** Paused. */
  readonly socket: Socket;
  readonly answer: unknown;
  /** What came behind the answer. */
  readonly rest: Buffer;
}

type Carrying = Extract<Request, { readonly op: 'exec' | 'connect' }>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** Time for everything until the runner answers. */
const START_MS = 20_000;
/** Bytes of the welcome and the answer together. */
const MAX_HEAD = 64 * 1024;

/** Throws EngineRefusal, or the signal's reason when that comes first. ConnectionEnded: the runner may have had the request. */
export async function openStream(
  runner: RunnerAddress,
  request: WithoutId<Carrying>,
  signal: AbortSignal,
): Promise<OpenedStream> {
  signal.throwIfAborted();
  // One signal may bound many commands; each takes its listener off again.
  setMaxListeners(0, signal);
  const socket = createConnection(runner.path);
  // Its end is told by `close`.
  socket.on('error', () => undefined);
  let sent = false;
  socket.once('connect', () => (sent = true));
  const abort = (): void => {
    socket.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', abort));
  const timer = setTimeout(abort, START_MS);
  try {
    // Together: the version is known, and a runner of another would end this connection.
    const hello = { hello: { versions: [runner.version], epoch: runner.epoch } };
    socket.write(`${JSON.stringify(hello)}\n${JSON.stringify({ id: 1, ...request })}\n`);
    const { answer, rest } = await readHead(socket);
    if ('refused' in answer) throw new EngineRefusal(answer.refused.code, answer.refused.message);
    return { socket, answer: answer.ok, rest };
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw sent ? error : new EngineRefusal('Unavailable', 'no runner answers');
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
