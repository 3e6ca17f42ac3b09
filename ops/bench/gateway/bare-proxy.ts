/**
 * The limit that gateways are compared with: a proxy that does nothing but pass bytes on, by Node's HTTP server and undici's pool, in a process of
 * its own. A reader who takes too little holds the upstream back; one who leaves ends it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';
import { serveProgram } from './child.js';

/** I10: further requests wait in the pool. */
const MOST_CONNECTIONS = 4_096;
/** I10: a larger body is refused. */
const MOST_BODY = 1024 * 1024;
/** Between a server and its client, not for others. */
const OF_A_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

function passed(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OF_A_CONNECTION.has(name)) kept[name] = value;
  }
  return kept;
}

/** Puts what an upstream answers into the response. */
function into(response: ServerResponse): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | undefined;
  let ended = false;
  response.on('drain', () => controller?.resume());
  response.on('close', () => {
    if (!ended) controller?.abort(new Error('the client has left'));
  });
  return {
    onRequestStart: (given) => {
      controller = given;
      if (response.destroyed) given.abort(new Error('the client has left'));
    },
    onResponseStart: (_, status, headers) => void response.writeHead(status, passed(headers)),
    onResponseData(given, chunk) {
      if (!response.write(chunk)) given.pause();
    },
    onResponseEnd() {
      ended = true;
      response.end();
    },
    onResponseError() {
      ended = true;
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    },
  };
}

serveProgram(({ upstream = 0 }) => {
  const pool = new Pool(`http://127.0.0.1:${upstream}`, { connections: MOST_CONNECTIONS, pipelining: 1 });
  return createServer((request, response) => {
    const parts: Buffer[] = [];
    let size = 0;
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size > MOST_BODY) request.destroy();
      else parts.push(part);
    });
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = 'GET', url = '/', headers } = request;
      const body = parts.length === 0 ? null : Buffer.concat(parts);
      pool.dispatch({ method, path: url, headers: passed(headers), body }, into(response));
    });
  });
});
