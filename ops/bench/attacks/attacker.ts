/**
 * An attacker from the network, as a process of its own: a client that does one hostile thing, as hard as its share of the processor
 * lets it, against a service on loopback. It ends with its parent, and after LAST_MS by itself.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, createServer as createPlainServer, type AddressInfo, type Socket } from 'node:net';
import { order, type Order, type AttackReport } from './order.js';

const LAST_MS = 60_000;
/** A connection that the service has closed, or that is not taken, is opened again after so long. */
const AGAIN_MS = 20;
const PIPELINED_BYTES = 64 * 1024;

let connections = 0;
let sent = 0;
const answers: Record<string, number> = {};

function tell(told: AttackReport): void {
  process.send?.(told);
}

function count(chunk: Buffer): void {
  const status = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1', 0, 16))?.[1];
  if (status !== undefined) answers[status] = (answers[status] ?? 0) + 1;
}

/** So many connections, always: `begin` is called with each that opens. */
function keepOpen(port: number, many: number, begin: (socket: Socket) => void): void {
  const open = (): void => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => {
      connections += 1;
      begin(socket);
    });
    socket.on('error', () => undefined);
    socket.once('close', () => setTimeout(open, AGAIN_MS));
  };
  for (let n = 0; n < many; n += 1) open();
}

/** Sends as fast as it is taken, and reads what comes. */
function pour(bytes: Buffer): (socket: Socket) => void {
  return (socket) => {
    const write = (): void => {
      let more = true;
      while (more && !socket.destroyed) {
        sent += 1;
        more = socket.write(bytes);
      }
    };
    socket.on('data', count);
    socket.on('drain', write);
    write();
  };
}

/** One request after another, each when the one before is answered. */
function ask(request: () => Buffer): (socket: Socket) => void {
  return (socket) => {
    const next = (): void => {
      sent += 1;
      socket.write(request());
    };
    socket.on('data', (chunk: Buffer) => {
      count(chunk);
      // Answers to these are refusals of some hundred bytes, or ready-made lists: the next request may overtake the end of one.
      if (chunk.includes('HTTP/1.1 ')) next();
    });
    next();
  };
}

/** Half of a body is never sent. */
function halve(request: Buffer): (socket: Socket) => void {
  return (socket) => {
    sent += 1;
    socket.on('data', count);
    socket.write(request.subarray(0, request.length - Math.ceil((request.length - request.indexOf('\r\n\r\n')) / 2)));
  };
}

function withMadeUpKey(): Buffer {
  const key = randomBytes(24).toString('base64url');
  return Buffer.from(`GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
}

/** On one port two sorts of receivers, in turns: one that never says a word, and one whose answer's body never ends. */
async function receive({ certificate }: Order): Promise<void> {
  const trickling = createServer({ ...certificate }, (request, response) => {
    request.resume();
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 100);
    response.once('close', () => clearInterval(timer));
  });
  trickling.on('tlsClientError', () => undefined);
  const listener = createPlainServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    if (connections % 2 === 0) trickling.emit('connection', socket);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  tell({ port: (listener.address() as AddressInfo).port });
}

async function attack(given: Order): Promise<void> {
  const { port } = given;
  const request = Buffer.from(given.request, 'base64');
  switch (given.attack) {
    case 'nothing': {
      const burn = (): void => {
        const until = performance.now() + 5;
        while (performance.now() < until);
        setImmediate(burn);
      };
      return burn();
    }
    case 'pipelining': {
      const one = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n';
      return keepOpen(port, 300, pour(Buffer.from(one.repeat(PIPELINED_BYTES / one.length))));
    }
    case 'patches':
    case 'yaml':
    case 'selectors':
      return keepOpen(
        port,
        16,
        ask(() => request),
      );
    case 'half-sent bodies':
      return keepOpen(port, 2_000, halve(request));
    case 'made-up keys':
      return keepOpen(port, 200, ask(withMadeUpKey));
    default:
      return receive(given);
  }
}

process.once('message', (message) => {
  setInterval(() => tell({ connections, sent, answers }), 1_000).unref();
  setTimeout(() => process.exit(0), LAST_MS);
  void attack(order.parse(message));
});
process.once('disconnect', () => process.exit(0));
