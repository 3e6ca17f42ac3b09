/** An HTTP server that stands for an upstream: each test says what it answers; it remembers what came, and when connections closed. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Of its connection, before its answer had ended. */
  closed: boolean;
}

export interface UpstreamServer {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Connections that were ever made. */
  connections(): number;
  /** Nobody listens any more, until `comeBack`. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

export type Answering = (response: ServerResponse, request: SeenRequest) => unknown;

export async function upstreamServer(t: ExecutionContext, answer: Answering): Promise<UpstreamServer> {
  const seen: SeenRequest[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one: SeenRequest = { method, path: url, headers, body: Buffer.concat(parts).toString(), closed: false };
      seen.push(one);
      response.on('close', () => {
        one.closed = !response.writableFinished;
      });
      void answer(response, one);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  const listen = (at: number): Promise<void> =>
    new Promise((resolve) => {
      server.listen(at, '127.0.0.1', resolve);
    });
  const leave = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await listen(0);
  t.teardown(leave);
  // server.address() of a TCP server that listens.
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, seen, connections: () => connections, leave },
    comeBack: () => listen(port),
  };
}

/** Waits until it holds; throws after the deadline. */
export async function until(what: string, holds: () => boolean, ms = 5_000): Promise<void> {
  const end = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(2);
  }
}

/** Answers JSON. */
export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}
