/**
 * The attempt API: what running work says of itself. It listens on a unix socket that the proxy process of boxes connects to, for each box
 * with a bound of its own (`src/engines/compute/shared/egress/attempt-relay.ts`). It takes the attempt's own token and nothing else, from the box of
 * that attempt and no other, and serves three routes and nothing else of the service. Source: decisions, "Routes not shown".
 *
 * Boxes that an earlier version started are shown this socket itself, so its callers are hostile. Bounds (I10): MAX_CONNECTIONS, each
 * with one request at a time, of whom the slow are cut off (IDLE_MS, BODY_MS); bodies of MAX_BODY bytes; of one attempt a report a
 * second, of which BURST may come at once, more are 429.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { parseBody } from '../../src/api/json.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { WORK_HEADER } from '../../src/brand.js';
import { SerialRequests } from '../../src/engines/compute/shared/egress/serial-requests.js';
import { openBodies } from '../body.js';
import type { HttpLog } from '../deps.js';
import { answerError } from '../errors.js';
import { Exchange } from '../exchange.js';
import { readInput } from '../input.js';
import { checkQueryNames } from '../query-names.js';
import { MeteredRequest } from '../small-chunks.js';
import { replyJson } from '../reply.js';

const MAX_CONNECTIONS = 1_024;
/** Until a request's head is there (ms). */
const IDLE_MS = 15_000;
const BODY_MS = 10_000;
const MAX_BODY = 16 * 1024;
const MAX_HEADER_BYTES = 8 * 1024;
const BURST = 10;
const PER_SECOND = 1;
/** Attempts whose rate is remembered; one that was forgotten comes back full. */
const MAX_RATES = 20_000;

export interface Progress {
  readonly completed: number;
  readonly total?: number | undefined;
}

export interface AttemptApiDeps {
  /** Where it listens. */
  readonly socket: string;
  /** Id of the work that a token was issued for, whether or not that still runs. */
  verify(token: string): string | undefined;
  /** Gone: this epoch of the attempt is over, or was never. */
  isLive(work: string): Promise<boolean>;
  progress(work: string, progress: Progress): Promise<'Noted' | 'Gone' | 'Later'>;
  readonly log: HttpLog;
}

const progressBody = z
  .strictObject({
    completed: z.int().min(0),
    total: z.int().min(0).optional(),
  })
  .refine(({ completed, total }) => total === undefined || completed <= total, {
    path: ['completed'],
    message: 'must not be more than total',
  });

interface Bucket {
  tokens: number;
  at: number;
}

export interface AttemptApi {
  close(): Promise<void>;
}

export async function openAttemptApi(deps: AttemptApiDeps): Promise<AttemptApi> {
  const bodies = openBodies(MAX_BODY);
  const rates = new LRUCache<string, Bucket>({ max: MAX_RATES });
  let counter = 0;

  /** The work that speaks, while it lives. A proxy of an earlier version does not say whose box it speaks for. */
  async function authenticate(x: Exchange): Promise<string> {
    const [scheme, token] = (x.header('authorization') ?? '').split(' ');
    const work = scheme?.toLowerCase() === 'bearer' && token !== undefined ? deps.verify(token) : undefined;
    const box = x.header(WORK_HEADER);
    if (work === undefined || (box ?? work) !== work || !(await deps.isLive(work))) throw notItsToken();
    return work;
  }

  function demand(work: string): void {
    const now = performance.now();
    const bucket = rates.get(work) ?? { tokens: BURST, at: now };
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1_000) * PER_SECOND);
    bucket.at = now;
    rates.set(work, bucket);
    if (bucket.tokens < 1) {
      throw refuse('TooManyRequests', 'an Attempt may report progress once a second', { retryAfterSeconds: 1 });
    }
    bucket.tokens -= 1;
  }

  async function serve(x: Exchange): Promise<void> {
    const work = await authenticate(x);
    if (x.hasQuery) checkQueryNames('attempt', x.query, x.url);
    switch (`${x.method} ${x.path}`) {
      case 'POST /attempt/v1/progress': {
        demand(work);
        const outcome = await deps.progress(work, parse(await bodies.read(x)));
        if (outcome === 'Gone') throw notItsToken();
        if (outcome === 'Later') throw refuse('Unavailable', 'the report was not accepted', { retryAfterSeconds: 1 });
        return replyJson(x, 200, {});
      }
      case 'POST /attempt/v1/checkpoints':
      case 'GET /attempt/v1/rendezvous':
        throw refuse('Unsupported', `${x.method} ${x.path} is not served yet`);
      default:
        throw refuse('NotFound', `${x.method} ${x.path.slice(0, 256)} does not exist`);
    }
  }

  const http = createHttpServer(
    { IncomingMessage: MeteredRequest, maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0 },
    (req: IncomingMessage, res: ServerResponse) => {
      SerialRequests.began(req, res);
      const slow = setTimeout(() => req.socket.destroy(), BODY_MS);
      req.once('close', () => clearTimeout(slow));
      const x = new Exchange(req, res, `attempt-${(counter++).toString(36)}`);
      void serve(x).catch((error: unknown) => answerError(x, error, deps.log));
    },
  );
  http.on('clientError', (_error: Error, connection: Duplex) => connection.destroy());
  const connections = new Set<SerialRequests>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection = new SerialRequests(socket, { group: 'attempt API', idleMs: IDLE_MS });
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
    http.emit('connection', connection);
  });
  server.maxConnections = MAX_CONNECTIONS;
  // Of a process that was killed. The caller holds the lease, so nobody listens there.
  rmSync(deps.socket, { force: true });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(deps.socket, () => {
      server.off('error', failed);
      done();
    });
  });
  // Boxes of an earlier version connect themselves; who may come here at all is decided by what is shown inside.
  chmodSync(deps.socket, 0o666);

  return {
    close: () =>
      new Promise((done) => {
        bodies.close();
        server.close(() => done());
        for (const connection of connections) connection.destroy();
      }),
  };
}

function parse(body: Buffer): Progress {
  const parsed = parseBody(body, 'json');
  if (parsed.outcome === 'Refused') throw new RefusalError(parsed.refusal);
  return readInput(progressBody, parsed.value, 'the progress is');
}

function notItsToken(): Error {
  return refuse('Unauthorized', 'the token must belong to the current epoch of a running Attempt', {
    fix: 'Send the header "Authorization: Bearer $SVC_TOKEN", with the SVC_TOKEN of the running process.',
  });
}
