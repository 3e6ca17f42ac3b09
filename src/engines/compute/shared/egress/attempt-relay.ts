/**
 * The attempt API as one box sees it: a socket of its own in a directory that is shown to it alone. What comes there is read as one small
 * request at a time and sent on to the service, so that nothing of a box reaches the service but whole requests at a bounded rate, and
 * no box takes another's connections. Each request goes on with the id of the work whose box it is (WORK_HEADER), which is known here and
 * not taken from the box: the token of one work is of no use in the box of another.
 *
 * Bounds (I10), of one box: CONNECTIONS, one more is closed; a head within HEAD_MS, a body of MAX_BODY bytes within BODY_MS; PER_SECOND
 * requests, of which BURST may come at once, one more is answered with 429 after a second, so that a loop slows down. An answer of at
 * most MAX_ANSWER bytes is waited for ANSWER_MS, and so long the work of a box that has none yet.
 */
import { mkdir, rm } from 'node:fs/promises';
import { chmodSync } from 'node:fs';
import {
  Agent,
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { toStatus } from '../../../../api/errors/status.js';
import { joinChunks } from '../../../chunk-joiner.js';
import type { Refusal } from '../../../../api/refusal.js';
import { API_SOCKET, WORK_HEADER } from '../../../../brand.js';
import type { Relayed } from './proxy-messages.js';
import { SerialRequests } from './serial-requests.js';

const CONNECTIONS = 8;
const HEAD_MS = 15_000;
const BODY_MS = 10_000;
const ANSWER_MS = 15_000;
const SLOW_MS = 1_000;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_BODY = 16 * 1024;
const MAX_ANSWER = 64 * 1024;
const BURST = 20;
const PER_SECOND = 5;
/** Connections to one service. */
const TO_SERVICE = 16;
const PASSED = ['authorization', 'content-type', 'accept'] as const;

interface Box {
  readonly server: Server;
  relayed: Relayed;
  /** They wait for its work to be known. */
  readonly waiting: Set<(work: string) => void>;
  tokens: number;
  /** Monotonic ms at which `tokens` was true. */
  at: number;
}

export interface Relays {
  /** Resolves when the box can connect; never rejects. A directory that has its socket keeps it, and what is new holds from now on. */
  open(directory: string, relayed: Relayed): Promise<void>;
  close(directory: string): void;
}

export function openRelays(now: () => number = () => performance.now()): Relays {
  const boxes = new Map<string, Box>();
  const boxOf = new WeakMap<Duplex, Box>();
  const agent = new Agent({ keepAlive: true, maxSockets: TO_SERVICE, maxFreeSockets: 2, timeout: ANSWER_MS });
  const http = createHttpServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0 }, (req, res) => {
    SerialRequests.began(req, res);
    joinChunks(req);
    const box = boxOf.get(req.socket);
    if (box === undefined) return void req.socket.destroy();
    void serve(box, req, res).catch(() => req.socket.destroy());
  });
  http.on('clientError', (_error: Error, socket: Duplex) => socket.destroy());

  function take(box: Box): boolean {
    const at = now();
    box.tokens = Math.min(BURST, box.tokens + ((at - box.at) / 1_000) * PER_SECOND);
    box.at = at;
    if (box.tokens < 1) return false;
    box.tokens -= 1;
    return true;
  }

  async function serve(box: Box, req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (!take(box)) {
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      const message = `this box asks more than ${PER_SECOND} times a second`;
      return refuseWith(res, { code: 'TooManyRequests', message, retryAfterSeconds: 1 });
    }
    const fits = Number(req.headers['content-length'] ?? 0) <= MAX_BODY;
    const body = fits ? await read(req, MAX_BODY, BODY_MS) : undefined;
    if (body === undefined) {
      return refuseWith(res, { code: 'RequestEntityTooLarge', message: `a body has at most ${MAX_BODY} bytes` });
    }
    const work = await workOf(box);
    const answer = work === undefined ? undefined : await ask(box.relayed.service, work, req, body);
    if (answer === undefined) {
      return refuseWith(res, { code: 'Unavailable', message: 'the service does not answer', retryAfterSeconds: 1 });
    }
    res.writeHead(answer.status, answer.headers);
    res.end(answer.body);
  }

  /** Undefined: there was none in time. */
  async function ask(service: string, work: string, req: IncomingMessage, body: Buffer): Promise<Answer | undefined> {
    const headers: Record<string, string> = { host: 'localhost', 'content-length': String(body.length) };
    for (const name of PASSED) {
      const value = req.headers[name];
      if (value !== undefined) headers[name] = value;
    }
    headers[WORK_HEADER] = work;
    const signal = AbortSignal.timeout(ANSWER_MS);
    const { method = 'GET', url: path = '/' } = req;
    const asked = httpRequest({ socketPath: service, agent, method, path, headers, signal });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        asked.on('response', resolve).on('error', reject);
        asked.end(body);
      });
      const said = await read(response, MAX_ANSWER, ANSWER_MS);
      if (said === undefined) return undefined;
      const passed: Record<string, string> = { 'content-length': String(said.length) };
      for (const name of ['content-type', 'retry-after', 'allow']) {
        const value = response.headers[name];
        if (typeof value === 'string') passed[name] = value;
      }
      return { status: response.statusCode ?? 502, headers: passed, body: said };
    } catch {
      asked.destroy();
      return undefined;
    }
  }

  return {
    async open(directory, relayed) {
      const known = boxes.get(directory);
      if (known !== undefined) {
        known.relayed = relayed;
        if (relayed.work !== undefined) for (const begin of known.waiting) begin(relayed.work);
        return;
      }
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => undefined);
        const serial = new SerialRequests(socket, { group: directory, idleMs: HEAD_MS });
        boxOf.set(serial, box);
        http.emit('connection', serial);
      });
      server.maxConnections = CONNECTIONS;
      const box: Box = { server, relayed, waiting: new Set(), tokens: BURST, at: now() };
      boxes.set(directory, box);
      const path = join(directory, API_SOCKET);
      await mkdir(directory, { recursive: true, mode: 0o711 }).catch(() => undefined);
      await rm(path, { force: true }).catch(() => undefined);
      await new Promise<void>((done) => {
        server.on('error', () => {
          boxes.delete(directory);
          done();
        });
        server.listen(path, () => {
          // Users of work are others; what is shown inside decides who may come here.
          chmodSync(path, 0o666);
          done();
        });
      });
    },
    close(directory) {
      boxes.get(directory)?.server.close();
      boxes.delete(directory);
    },
  };
}

/** Undefined: it was not known in time. */
async function workOf({ relayed, waiting }: Box): Promise<string | undefined> {
  if (relayed.work !== undefined) return relayed.work;
  let begin: (work?: string) => void = () => undefined;
  const known = new Promise<string | undefined>((resolve) => (begin = resolve));
  const timer = setTimeout(begin, ANSWER_MS);
  waiting.add(begin);
  const work = await known;
  clearTimeout(timer);
  waiting.delete(begin);
  return work;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Undefined when it is longer. Rejects when it does not come whole, or in time. */
async function read(from: Readable, most: number, ms: number): Promise<Buffer | undefined> {
  const timer = setTimeout(() => from.destroy(new Error('too slow')), ms);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of from) {
      length += (chunk as Buffer).length;
      if (length > most) return undefined;
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}

function refuseWith(res: ServerResponse, refusal: Refusal): void {
  const { httpStatus, headers, body } = toStatus(refusal, { requestId: '', docsBase: '' });
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  const all = { 'content-type': 'application/json', 'content-length': length, connection: 'close', ...headers };
  res.writeHead(httpStatus, all).end(text);
}
