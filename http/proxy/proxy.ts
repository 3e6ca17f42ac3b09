/**
 * Passes one request on to a port inside a box, and what answers there back: streamed both ways, at the speed of the slower
 * side. After a 101 the two connections are joined as they are.
 *
 * The program that answers is hostile: its head is bounded (MAX_HEAD), it has HEAD_MS for it, and it is never followed, cached or
 * believed; `headers.ts` says which of its words pass. When it breaks off, so does the answer.
 */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Caller } from '../../actors/resource-service.js';
import type { PortConnection } from '../../actors/work/commands.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { joinChunks } from '../../src/engines/chunk-joiner.js';
import { SlicedConnection } from '../../src/engines/sliced-connection.js';
import { plainSubprotocols } from '../auth/extract-credential.js';
import type { Exchange } from '../exchange.js';
import { refusalOf } from '../small-chunks.js';
import type { Streams } from '../streams.js';
import { bodyOf, inwardHeaders, outwardHeaders } from './headers.js';
import type { Passage } from './references.js';
import { pipeBothWays } from '../pipe.js';

export interface ProxyTarget extends Passage {
  connect(signal: AbortSignal): Promise<PortConnection>;
  /** What its caller must be allowed as long as it is open. */
  allows(caller: Caller): boolean;
  /** Names and values that each answer gets besides. */
  readonly more: readonly string[];
}

const MAX_HEAD = 32 * 1024;
/** Answers `1xx` before the answer itself. */
const MOST_HINTS = 16;
const CONNECT_MS = 10_000;
/** Long enough for a request that waits for something to happen. */
const HEAD_MS = 10 * 60_000;
/** A client that is gone without a word is found out by TCP. */
const KEEP_ALIVE_MS = 60_000;
/** Traffic is told at most so often, ms. */
const TELL_MS = 1_000;

export async function proxy(x: Exchange, streams: Streams, target: ProxyTarget): Promise<void> {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = x.req.headers;
  if (x.upgrade && (length !== '0' || coding !== undefined)) {
    // Where the body ends and the other protocol begins could be seen differently inside.
    throw refuse('BadRequest', 'an upgrade request must not have a body');
  }
  const early = refusalOf(x.req);
  if (early !== undefined) throw early;
  const life = new AbortController();
  const end = (): void => life.abort();
  x.gone.addEventListener('abort', end, { once: true });
  const release = streams.add(x, {
    allows: target.allows,
    end() {
      end();
      (x.upgrade?.socket ?? x.res).destroy();
    },
  });
  const late = setTimeout(end, CONNECT_MS);
  try {
    const connection = await target.connect(life.signal).catch((error: unknown) => {
      throw life.signal.aborted ? silent(target.port) : error;
    });
    clearTimeout(late);
    if (connection.outcome === 'Refused') throw nobody(target.port);
    // It may fail before anybody listens, and after nobody does any more.
    connection.stream.on('error', () => undefined);
    const over = x.upgrade ? connection.touch : connection.begin();
    try {
      await pass(x, target, connection);
    } catch (error) {
      throw x.left || x.res.headersSent ? error : ((await ended(target)) ?? error);
    } finally {
      over();
    }
  } finally {
    clearTimeout(late);
    end();
    release();
  }
}

/** The refusal of one whose epoch has ended; undefined: it goes on, and its program is to blame. */
async function ended(target: ProxyTarget): Promise<RefusalError | undefined> {
  const looking = new AbortController();
  const late = setTimeout(() => looking.abort(), CONNECT_MS);
  try {
    const connection = await target.connect(looking.signal);
    if (connection.outcome === 'Connected') connection.stream.on('error', () => undefined);
    return undefined;
  } catch (error) {
    return error instanceof RefusalError ? error : undefined;
  } finally {
    clearTimeout(late);
    looking.abort();
  }
}

type Connected = Extract<PortConnection, { outcome: 'Connected' }>;

type Answered =
  | { readonly answer: 'Plain'; readonly message: IncomingMessage }
  | { readonly answer: 'Upgraded'; readonly message: IncomingMessage; readonly head: Buffer };

async function pass(x: Exchange, target: ProxyTarget, { stream: source, touch }: Connected): Promise<void> {
  const stream = new SlicedConnection(source, x.caller?.org ?? '', 'Apart');
  const asked = ask(x, target, stream);
  const answered = await answerOf(asked, target.port);
  const { message } = answered;
  if (answered.answer === 'Upgraded') return join(x, target, message, answered.head, stream, touch);
  const status = message.statusCode ?? 0;
  if (status < 200 || status > 599) throw garbled(target.port);
  const headers = outwardHeaders(message.rawHeaders, message.headers.connection, target);
  x.res.writeHead(status, [...headers, ...target.more, 'X-Request-Id', x.requestId]);
  try {
    await pipeline(message, x.res);
  } catch {
    // It broke off, or the client did: the answer is not whole, which only a cut can say.
    x.res.destroy();
  }
  // What is left of the request has no reader any more.
  x.req.unpipe(asked);
  x.req.resume();
}

function ask(x: Exchange, target: ProxyTarget, stream: Duplex): ClientRequest {
  const { req, upgrade } = x;
  const headers = inwardHeaders(
    {
      rawHeaders: req.rawHeaders,
      connection: req.headers.connection,
      subprotocols: upgrade && plainSubprotocols(req),
      client: {
        address: req.socket.remoteAddress ?? '',
        host: target.host,
        scheme: x.isSecure ? 'https' : 'http',
      },
      requestId: x.requestId,
      upgrade: upgrade && req.headers.upgrade,
      body: upgrade ? 'None' : bodyOf(x.method, req.headers),
    },
    target,
  );
  let asked: ClientRequest;
  try {
    asked = httpRequest({
      method: x.method,
      path: target.path,
      headers,
      createConnection: () => stream,
      maxHeaderSize: MAX_HEAD,
    });
  } catch {
    stream.destroy();
    throw refuse('BadRequest', 'the path is not valid');
  }
  // Told by `answerOf`; afterwards by the answer that breaks off.
  asked.on('error', () => undefined);
  if (upgrade) asked.end();
  else {
    req.once('error', (error) => asked.destroy(error));
    req.pipe(asked);
  }
  return asked;
}

function answerOf(asked: ClientRequest, port: number): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(silent(port));
      asked.destroy();
    }, HEAD_MS);
    const done = (answered: Answered): void => {
      clearTimeout(late);
      resolve(answered);
    };
    asked.once('response', (message) => {
      joinChunks(message);
      done({ answer: 'Plain', message });
    });
    let hints = 0;
    asked.on('information', () => {
      if ((hints += 1) > MOST_HINTS) asked.destroy();
    });
    asked.once('upgrade', (message, _socket, head) => done({ answer: 'Upgraded', message, head }));
    asked.once('error', (error) => {
      clearTimeout(late);
      reject(error instanceof RefusalError ? error : garbled(port));
    });
    asked.once('close', () => {
      clearTimeout(late);
      reject(garbled(port));
    });
  });
}

async function join(
  x: Exchange,
  target: ProxyTarget,
  message: IncomingMessage,
  head: Buffer,
  stream: Duplex,
  touch: () => void,
): Promise<void> {
  const { upgrade } = x;
  // One that agrees to what nobody asked for.
  if (upgrade === undefined) throw garbled(target.port);
  const { socket } = upgrade;
  const headers = [
    ...outwardHeaders(message.rawHeaders, message.headers.connection, target),
    ...['Connection', 'Upgrade', 'Upgrade', message.headers.upgrade ?? '', 'X-Request-Id', x.requestId],
  ];
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`);
  x.leaveHttp(upgrade);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  if (head.length > 0) socket.write(head);
  if (upgrade.head.length > 0) stream.write(upgrade.head);
  let told = performance.now();
  await pipeBothWays(socket, stream, () => {
    const now = performance.now();
    if (now - told < TELL_MS) return;
    told = now;
    touch();
  });
}

function nobody(port: number): Error {
  return refuse('Unavailable', `no program listens on port ${port}`, {
    retryAfterSeconds: 1,
    fix: `Start a program that listens on 127.0.0.1:${port} or on all addresses, and ask again.`,
  });
}

function silent(port: number): Error {
  return refuse('Unavailable', `port ${port} does not respond`, { retryAfterSeconds: 1 });
}

function garbled(port: number): Error {
  return refuse('Unavailable', `the program on port ${port} did not respond with HTTP`, {
    retryAfterSeconds: 1,
    fix: 'Look at what the program writes: it has closed the connection, or speaks another protocol.',
  });
}
