/**
 * The receiver of webhook tests: one https server with a private authority, on which each test has paths of its own.
 * It verifies what it gets with the package that receivers use, and remembers it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { openServer } from '../engines/dialer/server.js';
import { until } from '../e2e/until.js';

export interface Received {
  /** `webhook-id`. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As it came. */
  readonly text: string;
  readonly body: unknown;
  readonly at: number;
}

/** Answers a request that has been read and remembered. */
export type Answering = (response: ServerResponse, received: Received) => void;

export interface Hook {
  readonly url: string;
  readonly received: readonly Received[];
  /** From now on. Until then every request is answered 204. */
  answer(with_: Answering): void;
  /** Resolves with what has come when it satisfies the test. */
  until(what: string, enough: (received: readonly Received[]) => boolean, ms?: number): Promise<readonly Received[]>;
}

export interface Receiver {
  /** File with the authority's certificate. */
  readonly caFile: string;
  readonly port: number;
  readonly connections: () => number;
  hook(name: string): Hook;
}

export async function openReceiver(t: { teardown(end: () => Promise<void>): void }, dir: string): Promise<Receiver> {
  const hooks = new Map<string, { received: Received[]; answer: Answering }>();
  const server = await openServer(t, (request, response) => {
    void read(request).then((received) => {
      const hook = hooks.get(request.url ?? '');
      if (hook === undefined) {
        response.writeHead(404).end();
        return;
      }
      hook.received.push(received);
      hook.answer(response, received);
    });
  });
  const caFile = join(dir, 'receivers.pem');
  await writeFile(caFile, server.ca);
  return {
    caFile,
    port: server.port,
    connections: server.connections,
    hook(name) {
      const path = `/${name}`;
      const hook = { received: [] as Received[], answer: taken as Answering };
      hooks.set(path, hook);
      return {
        url: `https://127.0.0.1:${server.port}${path}`,
        received: hook.received,
        answer(with_) {
          hook.answer = with_;
        },
        until: (what, enough, ms) => until(what, () => enough(hook.received) && hook.received, ms),
      };
    },
  };
}

function taken(response: ServerResponse): void {
  response.writeHead(204).end();
}

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answering {
  return (response) => {
    response.writeHead(code, headers).end('x'.repeat(100));
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const text = Buffer.concat(parts).toString('utf8');
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  return { id: headers['webhook-id'] ?? '', headers, text, body: JSON.parse(text), at: Date.now() };
}

/** Throws when the signature is not one of this secret's. */
export function verify(secret: string, { text, headers }: Received): unknown {
  return new Webhook(secret).verify(text, headers);
}
