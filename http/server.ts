/**
 * The two listeners, their bounds, and the drain. Each request is answered from the cache (`hot.ts`) or goes to the Koa
 * application (`application.ts`); one that asks to leave HTTP comes by `upgrade.ts`.
 *
 * Bounds (I10): headers of 32 KiB within 30 s, bodies within 60 s (uploads of blobs: bytes at least every 60 s), idle
 * connections 75 s, connections (`connections.ts`), TLS handshakes (`handshakes.ts`); one request at a time on a connection
 * (`pipelining.ts`); requests in flight and bodies (`admission.ts`), streams (`streams.ts`), requests a second (`rate.ts`), and those without a known key
 * (`auth/addresses.ts`) by setting. When those are full the answer is 429 with Retry-After; connections beyond the bound are
 * closed. Health is outside of all bounds, metrics are not.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { openApplication } from './application.js';
import type { Authenticator } from './auth/authenticator.js';
import { answerClientError } from './client-error.js';
import type { HttpDeps } from './deps.js';
import { drainServers } from './drain.js';
import { answerError } from './errors.js';
import { Exchange } from './exchange.js';
import { CURVES, openHandshakes } from './handshakes.js';
import { openHotPath } from './hot.js';
import type { Working } from './layers.js';
import { openMetrics } from './metrics.js';
import { openServerContext } from './open-context.js';
import { holdConnection, OneAtATime } from './pipelining.js';
import { COLLECTION_ROUTES } from './subresources.js';
import { openTargets } from './target.js';
import { readRequestId } from './trace.js';
import { openUpgrades } from './upgrade.js';

const MAX_HEADER_BYTES = 32 * 1024;

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
  const { limits, tls } = deps.config;
  const { context, revocation, close: closeContext } = openServerContext(deps, () => draining);
  const { authenticator, connections, streams } = context;
  const working: Working = { count: 0 };
  const metrics = openMetrics(deps.metrics, { inFlight: () => working.count, streams: () => streams.count });
  const targets = openTargets(deps.config.group, deps.kinds, new Set(COLLECTION_ROUTES.keys()));
  const application = openApplication(context, targets, metrics, working);
  const hot = openHotPath(context, targets, metrics);

  const prefix = Buffer.from(deps.randomBytes(5)).toString('hex');
  let counter = 0;
  const nextId = (): string => `${prefix}-${(counter++).toString(36)}`;
  const idOf = ({ headers }: IncomingMessage): string => readRequestId(headers['x-request-id']) ?? nextId();
  const { publicUrl, accessLog } = deps.config;
  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    holdConnection(req.socket, res);
    const requestId = idOf(req);
    const x = (): Exchange => new Exchange(req, res, requestId, publicUrl);
    try {
      // A line of the access log costs as much as the hot path saves.
      if (!accessLog && hot(req, res, requestId)) return;
    } catch (error) {
      answerError(x(), error, deps.log);
      return;
    }
    application.serve(x());
  }

  const plain = createServer(SERVER_OPTIONS, onRequest);
  const secure =
    tls &&
    createTlsServer(
      {
        ...SERVER_OPTIONS,
        allowHalfOpen: true,
        ecdhCurve: CURVES,
        key: tls.key,
        cert: tls.cert,
        ALPNProtocols: ['http/1.1'],
      },
      onRequest,
    );
  const handshakes = secure && openHandshakes(secure, connections.hasRoom);
  const servers: Server[] = secure ? [plain, secure] : [plain];
  const answerMalformed = (error: NodeJS.ErrnoException, socket: Socket): void =>
    answerClientError(error, socket, { requestId: nextId(), docsBase: publicUrl ?? '' });
  for (const server of servers) server.on('clientError', answerMalformed);
  const upgrades = openUpgrades({
    may: application.mayLeave,
    serve: (req, res, upgrade) => application.serveUpgrade(new Exchange(req, res, idOf(req), publicUrl, upgrade)),
  });
  for (const each of [connections, upgrades]) {
    each.follow(plain, 'connection');
    if (secure) each.follow(secure, 'secureConnection');
  }
  const httpPort = await listen(plain, deps.config.host, deps.config.port);
  const httpsPort = secure && tls ? await listen(secure, deps.config.host, tls.port) : undefined;

  async function close(): Promise<void> {
    draining = true;
    closeContext();
    upgrades.close();
    handshakes?.close();
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
    renewCertificate: ({ key, cert }) => secure?.setSecureContext({ key, cert, ecdhCurve: CURVES }),
    async drain() {
      draining = true;
      await drainServers({ servers, streams, inFlight: () => working.count, seconds: limits.drainSeconds });
    },
    close,
  };
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
