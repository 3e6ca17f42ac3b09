/**
 * The HTTP half of the proxy: CONNECT, and requests in absolute form, one after the other on a connection (`serial-requests.ts`). Node's own strict parser reads them, so that what this
 * proxy understands is what it sends on: it writes each request anew, on a connection of its own, and two lengths in one
 * message, or a coding that it does not know, are refused. Both sides are hostile: each is read in slices, boxes in turns, and small chunks
 * are joined. Nothing of a path, query, header or body is logged (I11).
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { joinChunks } from '../../../chunk-joiner.js';
import { SlicedConnection } from '../../../sliced-connection.js';
import type { Dialled } from './dial.js';
import { forwarded } from './headers.js';
import type { ProxyHandlerDeps } from './proxy-handler.js';
import { authorityOf, parseAuthority, type Target } from './policy.js';
import { SerialRequests } from './serial-requests.js';
import { join } from './tunnel.js';

const MAX_HEADER_BYTES = 32 * 1024;
/** Between an answer and the next request on one connection (ms). */
const KEEP_ALIVE_MS = 60_000;
/** Answers `1xx` before the answer itself. */
const MOST_HINTS = 16;

export interface HttpProxyHandler {
  serve(inner: Duplex): void;
}

export function httpProxyHandler(deps: ProxyHandlerDeps): HttpProxyHandler {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    // A body may take as long as it takes; silence is bounded on the outer connection.
    requestTimeout: 0,
    insecureHTTPParser: false,
  });
  server.timeout = 0;
  server.on('connect', (req: IncomingMessage, connection: SerialRequests, head: Buffer) => {
    const { inner, rest } = connection.release(head);
    deps.spoke(inner);
    void tunnel(req, inner, rest, deps);
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    SerialRequests.began(req, res);
    if (req.socket.destroyed) return;
    deps.spoke((req.socket as Duplex as SerialRequests).inner);
    void forward(req, res, deps);
  });
  server.on('clientError', (_error: Error, inner: Duplex) => {
    if (!inner.writable) return void inner.destroy();
    inner.once('finish', () => inner.destroy());
    inner.end(refusal(400, 'Bad Request', 'this is not valid HTTP'));
  });
  return {
    serve: (inner) =>
      void server.emit('connection', new SerialRequests(inner, { group: deps.box, idleMs: KEEP_ALIVE_MS })),
  };
}

async function tunnel(req: IncomingMessage, inner: Duplex, rest: Buffer, deps: ProxyHandlerDeps): Promise<void> {
  const target = parseAuthority(req.url ?? '');
  if (target === undefined) {
    deps.senseless('CONNECT');
    refuseTunnel(inner, refusal(400, 'Bad Request', 'CONNECT names no host and port'));
    return;
  }
  const opened = await deps.open('CONNECT', target, inner);
  if (opened.outcome !== 'Connected') {
    const [status, reason] = statusOf(opened);
    refuseTunnel(inner, refusal(status, reason, opened.message));
    return;
  }
  inner.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (rest.length > 0) opened.socket.write(rest);
  join(inner, opened.socket, deps);
}

/** What the client says after that is not read. */
function refuseTunnel(inner: Duplex, words: string): void {
  inner.once('finish', () => inner.destroy());
  inner.end(words);
}

async function forward(req: IncomingMessage, res: ServerResponse, deps: ProxyHandlerDeps): Promise<void> {
  // Before any of it comes.
  joinChunks(req);
  const asked = absolute(req.url ?? '');
  if (asked === undefined) {
    deps.senseless('HTTP');
    return answer(req, res, 400, 'this is a proxy: it takes CONNECT, and requests for http:// URLs in full');
  }
  const coding = req.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return answer(req, res, 501, 'this proxy knows no transfer coding but chunked');
  }
  const opened = await deps.open('HTTP', asked.target, req.socket);
  if (opened.outcome !== 'Connected') return answer(req, res, statusOf(opened)[0], opened.message);
  const { socket } = opened;
  const headers = forwarded(req);
  headers['host'] = asked.authority;
  // Its length, or that it comes in pieces, is ours to say.
  if (coding !== undefined) headers['transfer-encoding'] = 'chunked';
  else headers['content-length'] ??= hasBody(req.method) ? 0 : undefined;
  if (headers['content-length'] === undefined) delete headers['content-length'];
  const outer = httpRequest({
    createConnection: () => new SlicedConnection(socket, deps.box, 'Apart'),
    method: req.method ?? 'GET',
    path: asked.path,
    headers: { ...headers, connection: 'close' },
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  socket.setTimeout(deps.idleMs, () => socket.destroy());
  let hints = 0;
  outer.on('information', () => {
    if ((hints += 1) > MOST_HINTS) outer.destroy();
  });
  outer.on('response', (response) => {
    joinChunks(response);
    res.writeHead(response.statusCode ?? 502, response.statusMessage, forwarded(response));
    response.pipe(res);
    response.once('close', () => {
      // Cut short: cutting here as well is the only way to say so.
      if (!response.complete) res.destroy();
      socket.destroy();
    });
  });
  outer.on('upgrade', () => socket.destroy());
  outer.on('error', () => {
    socket.destroy();
    if (res.headersSent) res.destroy();
    else answer(req, res, 502, `${authorityOf(asked.target)} gave no answer`);
  });
  res.once('close', () => {
    if (!res.writableFinished) socket.destroy();
  });
  req.pipe(outer);
}

/** Of `http://host:port/path?query`; undefined for anything else, also with a user or a fragment in it. */
export function absolute(
  url: string,
): { readonly target: Target; readonly authority: string; readonly path: string } | undefined {
  const found = /^http:\/\/([^/?#@\s]+)([/?][^#\s]*)?$/i.exec(url);
  const target = found?.[1] === undefined ? undefined : parseAuthority(found[1], 80);
  if (found?.[1] === undefined || target === undefined) return undefined;
  const rest = found[2] ?? '/';
  return { target, authority: found[1], path: rest.startsWith('/') ? rest : `/${rest}` };
}

function hasBody(method: string | undefined): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

function statusOf(failed: Exclude<Dialled, { outcome: 'Connected' }>): [status: number, reason: string] {
  if (failed.outcome === 'Refused') return [403, 'Forbidden'];
  if (failed.outcome === 'Full') return [503, 'Service Unavailable'];
  return failed.reason === 'TimedOut' ? [504, 'Gateway Timeout'] : [502, 'Bad Gateway'];
}

export function refusal(status: number, reason: string, message: string): string {
  const body = `${message}\n`;
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

function answer(req: IncomingMessage, res: ServerResponse, status: number, message: string): void {
  // What is left of the body is not worth reading.
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  res.end(`${message}\n`);
  req.resume();
}
