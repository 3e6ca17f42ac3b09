import { createServer, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import test from 'ava';
import { SerialRequests } from '../../../src/engines/compute/shared/egress/serial-requests.js';

/** A connection whose other side sends what it is given, and takes what is written only when it is let. */
class Wire extends Duplex {
  said = '';
  held: (() => void) | undefined;
  reads = true;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.said += chunk.toString();
    if (this.reads) done();
    else this.held = done;
  }
}

function serving(serve: (res: ServerResponse, body: string) => void): { wire: Wire; parsed: () => number } {
  let parsed = 0;
  const server = createServer((req, res) => {
    SerialRequests.began(req, res);
    parsed++;
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => serve(res, body));
  });
  const wire = new Wire();
  server.emit('connection', new SerialRequests(wire, { idleMs: 60_000 }));
  return { wire, parsed: () => parsed };
}

const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((next) => setImmediate(next));
};
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('a client that does not read its answers is not read from, and nothing more of it is parsed', async (t) => {
  const { wire, parsed } = serving((res) => res.end('answer'));
  wire.reads = false;
  wire.push(GET.repeat(500));
  await turns(100);
  t.is(parsed(), 1);
  t.true(wire.isPaused());
  // What it sends meanwhile stays where it is.
  wire.push(GET);
  await turns(20);
  t.is(wire.readableLength, GET.length);
  wire.reads = true;
  wire.held?.();
  wire.held = undefined;
  for (let n = 0; n < 500 && wire.said.split('answer').length < 502; n++) await turns(20);
  t.is(wire.said.split('answer').length - 1, 501);
  wire.destroy();
});

test('what is left of the body of a request that has its answer is never taken for another request', async (t) => {
  let parsed = 0;
  const early = createServer((req, res) => {
    SerialRequests.began(req, res);
    parsed++;
    res.end('early');
  });
  const post = (length: number): string => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nabc${GET}`;
  const small = new Wire();
  early.emit('connection', new SerialRequests(small, { idleMs: 60_000 }));
  small.push(post(100));
  await turns(50);
  t.is(parsed, 1);
  small.push(`${'x'.repeat(97 - GET.length)}${GET}`);
  await turns(50);
  t.is(parsed, 2);
  small.destroy();
  // More than is worth reading.
  const large = new Wire();
  early.emit('connection', new SerialRequests(large, { idleMs: 60_000 }));
  large.push(post(1_000_000));
  for (let n = 0; n < 100 && !large.destroyed; n++) await turns(5);
  t.true(large.destroyed);
  t.is(parsed, 3);
});

test('lines that end without a carriage return hide no second request from it', async (t) => {
  const { wire, parsed } = serving(() => undefined);
  wire.push('GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\nHost: x\n\n');
  await turns(50);
  t.true(parsed() <= 1);
  wire.destroy();
});
