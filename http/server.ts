/**
 * Owns the front door: the two listeners, their bounds, the order in which a request meets hot path, Koa, funnel and
 * handlers, and the drain.
 *
 * Order: hot path (`hot.ts`) → funnel → `/api`, `/apis` (`handle.ts`), or everything else: Koa, fixed routes
 * (@koa/router). A request that asks to leave HTTP goes by `upgrade.ts`.
 *
 * Bounds (I10): headers of 32 KiB within 30 s, bodies within 60 s (uploads of blobs: bytes at least every 60 s), idle
 * connections 75 s, connections (`connections.ts`); one request at a time on a connection (`pipelining.ts`); requests in flight
 * and bodies (`admission.ts`), streams (`streams.ts`), requests a second (`rate.ts`), and those without a known key
 * (`auth/addresses.ts`) by setting. When those are full the answer is 429 with Retry-After; connections beyond the bound are
 * closed. Health is outside of all bounds, metrics are not.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import { refuse } from '../src/api/refusal.js';
import { openAccessLog } from './access-log.js';
import { openAdmission } from './admission.js';
import { openAddresses } from './auth/addresses.js';
import { openAuthenticator, type Authenticator } from './auth/authenticator.js';
import { openBodies } from './body.js';
import { answerClientError } from './client-error.js';
import { openConnections } from './connections.js';
import { openDeadlines } from './deadline.js';
import type { HttpDeps } from './deps.js';
import { openDiscovery } from './discovery/serve.js';
import { drainServers } from './drain.js';
import { refuseCheaply, repeatedHeader } from './early-refusals.js';
import { answerError } from './errors.js';
import { Exchange, exchangeOf, rememberExchange } from './exchange.js';
import { COLLECTION_ROUTES, openSubresources } from './subresources.js';
import { handle, mayLeave, noSuchPath, type HandleDeps } from './handle.js';
import { openHeavyTurns } from './heavy-turns.js';
import { openHotPath } from './hot.js';
import { openMetrics, observeExchange } from './metrics.js';
import { holdConnection, OneAtATime } from './pipelining.js';
import { methodNotAllowed } from './resources/dispatch.js';
import { openInflightIdempotency } from './resources/inflight-idempotency.js';
import { fixedRoutes } from './routes/fixed.js';
import type { ServerContext } from './server-context.js';
import { openRates } from './rate.js';
import { openRevocation } from './revocation.js';
import { openStreams } from './streams.js';
import { openRenderings } from './table/rendering.js';
import { openTargets } from './target.js';
import { openToolProcesses } from './tools/tool-processes.js';
import { isTool, toolAddressOf } from './tools/tool-address.js';
import { serveTool } from './tools/serve.js';
import { openBrowserSessions } from './tools/browser-sessions.js';
import { readRequestId } from './trace.js';
import { openUpgrades, type Upgrade } from './upgrade.js';
import { openWaiting, WAITING_BYTES } from './watch/waiting.js';
import { openYamlWriter } from './yaml/writer.js';
import { decodeObject } from '../src/api/encode.js';

const MAX_HEADER_BYTES = 32 * 1024;
const HANDSHAKE_MS = 15_000;

export interface Http {
  readonly httpPort: number;
  /** Undefined when TLS is off. */
  readonly httpsPort: number | undefined;
  /** For changes of API keys, members and ServiceAccounts: `forget(address)`. Streams that end by it are ended, too. */
  readonly authenticator: Pick<Authenticator, 'forget' | 'forgetAll'>;
  /** A renewed certificate, for connections from now on. */
  renewCertificate(tls: { readonly key: string | Buffer; readonly cert: string | Buffer }): void;
  /** No new writes, watches end cleanly, requests under way finish; bounded by the setting. */
  drain(): Promise<void>;
  /** Closes at once. */
  close(): Promise<void>;
}

export async function openHttp(deps: HttpDeps): Promise<Http> {
  let draining = false;
  /** Requests whose answer is not complete, streams left out: what a drain waits for. */
  let working = 0;
  const { limits } = deps.config;
  const deadlines = openDeadlines(limits.requestSeconds);
  const heavyTurns = openHeavyTurns();
  const bodies = openBodies(limits.bodyBytes, heavyTurns);
  const yaml = openYamlWriter();
  const addresses = openAddresses(limits.rates.address);
  const connections = openConnections(limits.connections ?? {});
  const authenticator = openAuthenticator({
    ...{ credentials: deps.credentials, clock: deps.clock, addresses },
    onUse: deps.onCredentialUse,
    async principals(address) {
      const body = deps.resources.peek(address) ?? (await deps.resources.read(address, deadlines.current()));
      return body && decodeObject(body);
    },
  });
  const revocation = openRevocation({ authenticator, clock: deps.clock });
  const streams = openStreams(limits.streams, limits.streamsPerKey, revocation);
  const context: ServerContext = {
    ...deps,
    authenticator,
    addresses,
    connections,
    revocation,
    admission: openAdmission({ ...limits.inFlight, bodyBytes: limits.bodyMemoryBytes }),
    bodies,
    yaml,
    heavyTurns,
    deadlines,
    streams,
    waiting: openWaiting(limits.watchBytes ?? WAITING_BYTES),
    rates: openRates(limits.rates),
    browserSessions: openBrowserSessions({
      placeOf: (session) => toolAddressOf(session, deps.config.toolDomain),
      key: deps.browserSessionKey,
      randomBytes: deps.randomBytes,
      clock: deps.clock,
    }),
    toolProcesses: openToolProcesses(deps.commands),
    renderings: openRenderings(deps.config.group, deps.clock),
    inflightIdempotency: openInflightIdempotency(),
    draining: () => draining,
  };
  const metrics = openMetrics(deps.metrics, { inFlight: () => working, streams: () => streams.count });
  const accessLog = deps.config.accessLog ? openAccessLog(deps.log) : undefined;
  const targets = openTargets(deps.config.group, deps.kinds, new Set(COLLECTION_ROUTES.keys()));
  const routed: HandleDeps = {
    context,
    targets,
    collectionRoutes: COLLECTION_ROUTES,
    subresources: openSubresources(deps.kinds),
    discovery: openDiscovery(context),
  };
  const hot = openHotPath(context, targets, metrics);

  /** Answers whatever `serve` throws: the one funnel. */
  async function funnel(x: Exchange, serve: () => Promise<number>): Promise<void> {
    let status: number;
    let counted = true;
    working += 1;
    x.leaveFlight = () => {
      if (counted) working -= 1;
      counted = false;
      x.place?.leave();
    };
    try {
      status = await serve();
    } catch (error) {
      status = answerError(x, error, deps.log);
    } finally {
      x.leaveFlight();
      x.place?.end();
    }
    observeExchange(metrics, x, status);
    accessLog?.(x, status);
  }

  const app = new Koa();
  const router = new Router();
  fixedRoutes(router, context);
  app.use(async (ctx, next) => {
    const x = exchangeOf(ctx.res);
    await funnel(x, async () => {
      ctx.set('x-request-id', x.requestId);
      if (!isHealth(x.path) && !context.authenticator.wasKnown(x.header('authorization'))) addresses.demand(x.from);
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw nothingThere(x, router);
      return ctx.status;
    });
    // A refusal has been written past Koa.
    if (ctx.res.headersSent) ctx.respond = false;
  });
  app.use(router.routes());
  app.on('error', (error: unknown) => {
    // Only what broke while Koa wrote an answer comes here; the client has left or the socket is gone.
    deps.log.warn({ error: error instanceof Error ? error.name : typeof error }, 'an answer could not be written');
  });

  function serveApi(x: Exchange): void {
    void funnel(x, async () => {
      await handle(x, routed);
      return x.res.statusCode;
    });
  }

  function serveTools(x: Exchange): void {
    void funnel(x, async () => {
      await serveTool(x, context);
      return x.res.statusCode;
    });
  }

  const serveKoa = app.callback();
  const prefix = Buffer.from(deps.randomBytes(5)).toString('hex');
  let counter = 0;
  const nextId = (): string => `${prefix}-${(counter++).toString(36)}`;
  const idOf = ({ headers }: IncomingMessage): string => readRequestId(headers['x-request-id']) ?? nextId();
  const { publicUrl } = deps.config;
  const exchange = (req: IncomingMessage, res: ServerResponse, requestId: string, upgrade?: Upgrade): Exchange =>
    new Exchange(req, res, requestId, publicUrl, upgrade);
  function refuseRepeated(x: Exchange, header: string): void {
    x.res.shouldKeepAlive = false;
    const fix = `Send one ${header} header.`;
    answerError(x, refuse('BadRequest', `the request has more than one ${header} header`, { fix }), deps.log);
  }
  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    holdConnection(req.socket, res);
    const requestId = idOf(req);
    const repeated = repeatedHeader(req);
    if (repeated !== undefined) {
      refuseRepeated(exchange(req, res, requestId), repeated);
      return;
    }
    const query = req.url?.indexOf('?') ?? -1;
    if (query >= 0 && req.url?.includes('%00', query)) {
      // Postgres keeps no U+0000, so nothing can be meant by it in a selector or a cursor. (In a path it names nothing.)
      const refusal = refuse('BadRequest', 'the query holds a null character');
      answerError(exchange(req, res, requestId), refusal, deps.log);
      return;
    }
    try {
      // A line costs as much as the hot path saves.
      if (accessLog === undefined && hot(req, res, requestId)) return;
    } catch (error) {
      answerError(exchange(req, res, requestId), error, deps.log);
      return;
    }
    const x = exchange(req, res, requestId);
    if (addresses.isSpent(x.from) && !isHealth(x.path) && !authenticator.wasKnown(req.headers.authorization)) {
      refuseCheaply(res);
      return;
    }
    if (isApi(x.path)) {
      serveApi(x);
      return;
    }
    if (isTool(x.path)) {
      serveTools(x);
      return;
    }
    rememberExchange(x);
    void serveKoa(req, res);
  }

  const plain = createServer(SERVER_OPTIONS, onRequest);
  const { tls } = deps.config;
  const secure =
    tls &&
    createTlsServer(
      { ...SERVER_OPTIONS, handshakeTimeout: HANDSHAKE_MS, key: tls.key, cert: tls.cert, ALPNProtocols: ['http/1.1'] },
      onRequest,
    );
  const servers: Server[] = secure ? [plain, secure] : [plain];
  const answerMalformed = (error: NodeJS.ErrnoException, socket: Socket): void =>
    answerClientError(error, socket, { requestId: nextId(), docsBase: publicUrl ?? '' });
  for (const server of servers) server.on('clientError', answerMalformed);
  const upgrades = openUpgrades({
    may: (path, protocol) => isTool(path) || mayLeave(path, protocol, routed),
    serve(req, res, upgrade) {
      const x = exchange(req, res, idOf(req), upgrade);
      const repeated = repeatedHeader(req);
      if (repeated !== undefined) refuseRepeated(x, repeated);
      else if (isTool(x.path)) serveTools(x);
      else serveApi(x);
    },
  });
  for (const each of [connections, upgrades]) {
    each.follow(plain, 'connection');
    if (secure) each.follow(secure, 'secureConnection');
  }
  const httpPort = await listen(plain, deps.config.host, deps.config.port);
  const httpsPort = secure && tls ? await listen(secure, deps.config.host, tls.port) : undefined;

  async function close(): Promise<void> {
    draining = true;
    streams.endAll();
    streams.close();
    bodies.close();
    yaml.close();
    deadlines.close();
    upgrades.close();
    await Promise.all(servers.map((server) => closeServer(server)));
  }

  return {
    httpPort,
    httpsPort,
    authenticator: {
      forget(address) {
        authenticator.forget(address);
        revocation.changed(address);
      },
      forgetAll: () => authenticator.forgetAll(),
    },
    renewCertificate: (renewed) => secure?.setSecureContext({ key: renewed.key, cert: renewed.cert }),
    async drain() {
      draining = true;
      await drainServers({ servers, streams, inFlight: () => working, seconds: limits.drainSeconds });
    },
    close,
  };
}

/** Asked for by what watches this process: outside of all bounds. */
function isHealth(path: string): boolean {
  return path === '/livez' || path === '/readyz' || path === '/healthz';
}

/** A path without any route, or one that has routes for other methods. */
function nothingThere(x: Exchange, router: Router): Error {
  const routes = router.match(x.path, x.method).path.filter(({ methods }) => methods.length > 0);
  if (routes.length === 0) return noSuchPath(x);
  return methodNotAllowed(x, [...new Set(routes.flatMap(({ methods }) => methods))].toSorted());
}

/** Answers of the API are ready-made bytes; Koa's context and the listeners it adds would be a twentieth of a write. */
function isApi(path: string): boolean {
  return path.startsWith('/apis/') || path.startsWith('/api/') || path === '/api' || path === '/apis';
}

const SERVER_OPTIONS = {
  IncomingMessage: OneAtATime,
  maxHeaderSize: MAX_HEADER_BYTES,
  /** Slow headers: a client that sends them a byte at a time is cut. Bodies have bounds of their own (`body.ts`, blobs). */
  headersTimeout: 30_000,
  requestTimeout: 0,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  noDelay: true,
} as const;

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
