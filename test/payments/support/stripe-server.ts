/**
 * Stripe's API on loopback, as far as payments use it, with its state: a test pays, disputes and lets time pass by functions, and breaks any
 * request on its way. It sends no webhooks: a test takes the events and delivers, repeats, reorders or drops them.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';
import { openAccount, type Account, type StripeEvent } from './stripe-account.js';
import { answer, ApiError } from './stripe-api.js';
import { parseForm } from './stripe-form.js';
import { openIdempotencyKeys } from './stripe-idempotency.js';
import { openPayer, type Payer } from './stripe-payer.js';

export type Fault =
  /** 500, and nothing has happened. */
  | 'FailBefore'
  /** It took effect, and the answer is a 500 of something in between. */
  | 'FailAfter'
  /** 500 by Stripe itself, which the key answers from then on. */
  | 'FailForGood'
  | 'RateLimit'
  /** Another request with the key is under way. */
  | 'Conflict'
  | 'Hang'
  /** It took effect, and the connection ends without an answer. */
  | 'CutAfter'
  /** It took effect, and half of the answer comes. */
  | 'Truncate'
  /** It took effect, and the answer is a page of HTML. */
  | 'Html'
  /** The right answer, with 9 MiB of spaces. */
  | 'Huge'
  /** The answer is `{}`. */
  | 'Empty';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly key: string | undefined;
  readonly headers: IncomingMessage['headers'];
}

export interface Webhook {
  readonly event: StripeEvent;
  readonly body: Buffer;
  readonly signature: string;
}

export interface StripeServer extends Payer {
  readonly url: string;
  readonly account: Account;
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** All requests, oldest first. */
  readonly seen: readonly Seen[];
  /** The next `times` requests to paths that begin so, after `skip` of them. */
  fail(path: string, fault: Fault, times?: number, skip?: number): void;
  /** Nothing fails any more, but for what fails already. */
  mend(): void;
  /** Calls `act` once, when the next request that begins so (`POST /v1/refunds`) has taken effect, and before its answer is sent. */
  atNext(request: string, act: () => void): void;
  /** ms. */
  now(): number;
  advance(ms: number): void;
  /** Refuses any other key than this; undefined: the one that it was opened with. */
  accept(key?: string): void;
  /** Requests that were never answered and whose connection stands. */
  hanging(): number;
  /** Of the events since the last call, oldest first. */
  webhooks(): readonly Webhook[];
  /** `at` in ms. */
  sign(body: Buffer | string, at?: number, secret?: string): string;
  close(): Promise<void>;
}

export const WEBHOOK_SECRET = 'whsec_0123456789abcdefghij';

export async function openStripeServer(mode: 'test' | 'live' = 'test'): Promise<StripeServer> {
  const secretKey = `sk_${mode}_0123456789abcdef`;
  let offset = 0;
  let accepted = secretKey;
  let taken = 0;
  let hanging = 0;
  const now = (): number => Date.now() + offset;
  const account = openAccount(mode === 'live', () => Math.floor(now() / 1_000));
  const keys = openIdempotencyKeys();
  const seen: Seen[] = [];
  const faults: { readonly path: string; readonly fault: Fault; times: number; skip: number }[] = [];
  const acts: { readonly request: string; readonly act: () => void }[] = [];

  function actAt(line: string): void {
    const index = acts.findIndex(({ request }) => line.startsWith(request));
    if (index >= 0) for (const { act } of acts.splice(index, 1)) act();
  }

  function takeFault(path: string): Fault | undefined {
    const found = faults.find((entry) => path.startsWith(entry.path) && entry.times > 0);
    if (found === undefined) return undefined;
    if (found.skip > 0) {
      found.skip -= 1;
      return undefined;
    }
    found.times -= 1;
    return found.fault;
  }

  /** One request, once for its key. */
  function execute(
    { method, path, body, key }: Seen,
    fault: Fault | undefined,
  ): { readonly status: number; readonly body: string } {
    const [name = '', query = ''] = path.split('?');
    const run = (): { readonly status: number; readonly body: string; readonly kept: boolean } => {
      if (fault === 'FailForGood') return { ...errorOf(500, { type: 'api_error', message: 'An error' }), kept: true };
      try {
        const params = parseForm(method === 'POST' ? body : query);
        const value = answer(account, { method, path: name.replace(/^\/v1/, ''), params });
        return { status: 200, body: JSON.stringify(value), kept: true };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { ...errorOf(error.status, error.fields), kept: error.status === 402 };
      }
    };
    return key === undefined || method !== 'POST' ? run() : keys.run(key, `${method} ${path}\n${body}`, run);
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method = '', url = '', headers } = req;
    const key = headers['idempotency-key'] as string | undefined;
    const request: Seen = { method, path: url, body: Buffer.concat(chunks).toString(), key, headers };
    seen.push(request);
    const send = (status: number, body: string, type = 'application/json'): void => {
      res.writeHead(status, {
        'content-type': type,
        date: new Date(now()).toUTCString(),
        'request-id': `req_${seen.length}`,
      });
      res.end(body);
    };
    const fault = takeFault(url);
    if (fault === 'Hang') {
      hanging += 1;
      req.socket.once('close', () => (hanging -= 1));
      return;
    }
    if (headers.authorization !== `Bearer ${accepted}`) {
      const message = `Invalid API Key provided: ${String(headers.authorization).slice(7)}`;
      const refused = errorOf(401, { type: 'invalid_request_error', message });
      return send(refused.status, refused.body);
    }
    const before = beforeEffect(fault);
    if (before !== undefined) return send(before.status, before.body);
    const replied = execute(request, fault);
    actAt(`${method} ${url}`);
    switch (fault) {
      case 'FailAfter':
        return send(502, 'bad gateway', 'text/plain');
      case 'Html':
        return send(200, '<!doctype html><title>Sign in</title>', 'text/html');
      case 'Huge':
        return send(replied.status, replied.body + ' '.repeat(9 * 1024 * 1024));
      case 'CutAfter':
        return void req.socket.destroy();
      case 'Truncate': {
        res.writeHead(replied.status, { 'content-length': Buffer.byteLength(replied.body) });
        res.write(replied.body.slice(0, replied.body.length / 2), () => req.socket.destroy());
        return;
      }
      case undefined:
      default:
        return send(replied.status, replied.body);
    }
  }

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      console.error(error);
      req.socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sign: StripeServer['sign'] = (body, at = now(), secret = WEBHOOK_SECRET) =>
    Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret, timestamp: Math.floor(at / 1_000) });

  return {
    ...openPayer(account),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ account, secretKey, webhookSecret: WEBHOOK_SECRET, seen, now, sign },
    fail: (path, fault, times = 1, skip = 0) => void faults.push({ path, fault, times, skip }),
    mend: () => void faults.splice(0),
    atNext: (request, act) => void acts.push({ request, act }),
    advance: (ms) => void (offset += ms),
    hanging: () => hanging,
    accept: (key = secretKey) => void (accepted = key),
    webhooks() {
      const fresh = account.events.slice(taken);
      taken = account.events.length;
      return fresh.map((event) => {
        const body = Buffer.from(JSON.stringify(event, undefined, 2));
        return { event, body, signature: sign(body) };
      });
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function beforeEffect(fault: Fault | undefined): { readonly status: number; readonly body: string } | undefined {
  switch (fault) {
    case 'FailBefore':
      return errorOf(500, { type: 'api_error', message: 'An error' });
    case 'RateLimit':
      return errorOf(429, { type: 'invalid_request_error', code: 'rate_limit', message: 'Too many requests' });
    case 'Conflict':
      return errorOf(409, { type: 'invalid_request_error', code: 'idempotency_key_in_use', message: 'in use' });
    case 'Empty':
      return { status: 200, body: '{}' };
    default:
      return undefined;
  }
}

function errorOf(
  status: number,
  fields: Readonly<Record<string, unknown>>,
): { readonly status: number; readonly body: string } {
  return { status, body: JSON.stringify({ error: fields }) };
}
