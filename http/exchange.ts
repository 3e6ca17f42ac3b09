/**
 * One request and its answer as the handlers see it: path and query read once, the caller, a request id, and
 * signals.
 *
 * Signals: `gone` belongs to this request and aborts when the client leaves; it is made only by the handlers that
 * stream. Everything short uses the shared deadline of `deadline.ts`, because a signal per request costs more than the
 * rest of a plain read, and because a write must not stop half-way when its client leaves.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../actors/resource-service.js';
import type { Place } from './admission.js';
import type { Identity } from './auth/authenticator.js';
import type { Target } from './target.js';
import { readTraceId } from './trace.js';
import type { Upgrade } from './upgrade.js';

export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  /** Without the query. Not decoded: `target.ts` decodes segment by segment. */
  readonly path: string;
  readonly requestId: string;
  /** performance.now() at arrival. */
  readonly startedAt: number;
  /** Set when the request asks to leave HTTP on a path that can be left. */
  readonly upgrade: Upgrade | undefined;
  /** What a path below `/api` and `/apis` names; set by the router. */
  target: Target | undefined = undefined;
  /** The status that an error was answered with, or would have been: 499 when the client has left. */
  failedWith: number | undefined = undefined;
  /** Set by authentication. */
  identity: Identity | undefined = undefined;
  /** Among the requests in flight; set with the caller. */
  place: Place | undefined = undefined;
  /** Words for metrics; bounded by the registry's plurals and the fixed routes. */
  verb = 'other';
  resource = 'other';
  /** `Warning: 299` texts of this answer. */
  readonly warnings: string[] = [];
  /** The request is a stream from now on and holds no place in flight; set by `countRequests`, harmless twice. */
  leaveFlight: () => void = () => undefined;
  /** Ends its turn among the requests that hold the event loop for long (`heavy-turns.ts`); harmless twice. */
  endHeavyTurn: (() => void) | undefined = undefined;
  /** An answer of which the client takes nothing for so long is cut; ms. */
  stallMs = 30_000;
  readonly #search: string;
  readonly #publicUrl: string | undefined;
  #query: URLSearchParams | undefined;
  #gone: AbortController | undefined;
  #left = false;
  #stallsAreCut = false;

  /** `publicUrl`: as in `HttpConfig`. */
  constructor(req: IncomingMessage, res: ServerResponse, requestId: string, publicUrl?: string, upgrade?: Upgrade) {
    const url = req.url ?? '/';
    const mark = url.indexOf('?');
    this.req = req;
    this.res = res;
    this.method = req.method ?? 'GET';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.#search = mark < 0 ? '' : url.slice(mark + 1);
    this.requestId = requestId;
    this.startedAt = performance.now();
    this.upgrade = upgrade;
    this.#publicUrl = publicUrl;
  }

  get caller(): Caller | undefined {
    return this.identity?.caller;
  }

  /** Address of the client's end of the connection; empty when it is gone already. */
  get from(): string {
    return this.req.socket.remoteAddress ?? '';
  }

  /** Of the trace that the client counts this request to, for the log. */
  get traceId(): string | undefined {
    return readTraceId(this.header('traceparent'));
  }

  get hasQuery(): boolean {
    return this.#search !== '';
  }

  /** Path and query as sent; part of an idempotency fingerprint. */
  get url(): string {
    return this.req.url ?? '/';
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#search));
  }

  /** Address of the service, for links in answers; never used to decide anything. */
  get base(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const host = this.req.headers.host ?? '';
    return /^[A-Za-z0-9.:[\]-]{1,255}$/.test(host) ? `${this.#encrypted ? 'https' : 'http'}://${host}` : '';
  }

  /** True when people reach the service by TLS, here or before a proxy. */
  get isSecure(): boolean {
    return this.#encrypted || this.#publicUrl?.startsWith('https:') === true;
  }

  get #encrypted(): boolean {
    return 'encrypted' in this.req.socket;
  }

  header(name: string): string | undefined {
    const value = this.req.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  /** Aborts when the client goes away before the answer is complete. One listener per exchange, however often asked. */
  get gone(): AbortSignal {
    return (this.#gone ??= this.#watchClient()).signal;
  }

  /** True when the client left before the answer was complete: then nobody is to blame and nothing is to be said. */
  get abandoned(): boolean {
    if (this.upgrade !== undefined) return this.upgrade.socket.destroyed && !this.res.writableFinished;
    return this.res.destroyed && !this.res.writableFinished;
  }

  /** True when the connection speaks something else by now: no answer can be given any more. */
  get left(): boolean {
    return this.#left;
  }

  /** Ends the connection without another word: what was sent of the answer is not whole. */
  cut(): void {
    (this.upgrade?.socket ?? this.res).destroy();
  }

  /** Takes the connection of an upgrade: what is written to it from now on is the caller's. */
  leaveHttp(upgrade: Upgrade): void {
    this.#left = true;
    this.res.detachSocket(upgrade.socket);
    // For metrics alone.
    this.res.statusCode = 101;
  }

  /**
   * From now on the connection is cut when bytes wait and none of them is taken for `stallMs` to twice that: the socket's
   * timer counts each byte that the system takes. For answers that are streamed or long; a quiet watch has nothing waiting.
   */
  cutWhenStalled(): void {
    if (this.upgrade !== undefined || this.#stallsAreCut) return;
    this.#stallsAreCut = true;
    const { res } = this;
    res.setTimeout(this.stallMs, () => {
      if ((res.socket?.writableLength ?? res.writableLength) > 0) res.destroy();
    });
  }

  #watchClient(): AbortController {
    const controller = new AbortController();
    // A stream and what it reads from listen to it; their number does not grow with time.
    setMaxListeners(0, controller.signal);
    const { socket } = this.upgrade ?? {};
    if (this.res.destroyed || this.res.closed || socket?.destroyed === true) controller.abort(GONE);
    else (socket ?? this.res).once('close', () => controller.abort(GONE));
    return controller;
  }
}

/** Made once: without a reason each end of a connection would make an error with its stack, which takes as long as a small answer. */
const GONE = new DOMException('the connection has ended', 'AbortError');

/** A property costs less than an entry of a WeakMap, for every request. */
const EXCHANGE = Symbol('exchange');

interface Carrier {
  [EXCHANGE]?: Exchange;
}

/** For what Koa calls, which sees the answer only. */
export function rememberExchange(x: Exchange): void {
  (x.res as Carrier)[EXCHANGE] = x;
}

export function exchangeOf(res: ServerResponse): Exchange {
  const x = (res as Carrier)[EXCHANGE];
  if (x === undefined) throw new Error('a request came in beside the HTTP server');
  return x;
}
