import { createServer, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import test from 'ava';
import { SerialRequests } from '../../../src/engines/compute/shared/egress/serial-requests.js';
import { until } from '../../e2e/until.js';

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
  server.emit('connection', new SerialRequests(wire, { group: 'box', idleMs: 60_000 }));
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
  await until('the first is parsed', () => parsed() === 1 && wire.held !== undefined);
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
  await until('all are answered', () => wire.said.split('answer').length - 1 === 501);
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
  early.emit('connection', new SerialRequests(small, { group: 'box', idleMs: 60_000 }));
  small.push(post(100));
  await until('it is answered', () => small.said.includes('early'));
  await turns(50);
  t.is(parsed, 1);
  small.push(`${'x'.repeat(97 - GET.length)}${GET}`);
  await until('the next is parsed', () => parsed === 2);
  small.destroy();
  // More than is worth reading.
  const large = new Wire();
  early.emit('connection', new SerialRequests(large, { group: 'box', idleMs: 60_000 }));
  large.push(post(1_000_000));
  await until('it is cut', () => large.destroyed);
  t.is(parsed, 3);
});

test('lines that end without a carriage return hide no second request from it', async (t) => {
  const { wire, parsed } = serving(() => undefined);
  wire.push('GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\nHost: x\n\n');
  await until('it is read', () => wire.said !== '' || parsed() > 0);
  await turns(50);
  t.true(parsed() <= 1);
  wire.destroy();
});

test('a body in tiny chunks is parsed in slices, with turns of the loop between, and another box has every second', async (t) => {
  const order: string[] = [];
  let inOneTurn = 0;
  let most = 0;
  const begin = (group: string): Wire => {
    const server = createServer((req, res) => {
      SerialRequests.began(req, res);
      req.on('data', () => {
        most = Math.max(most, (inOneTurn += 1));
        if (inOneTurn > 1) return;
        order.push(group);
        setImmediate(() => (inOneTurn = 0));
        const end = performance.now() + 1;
        while (performance.now() < end);
      });
    });
    const wire = new Wire();
    server.emit('connection', new SerialRequests(wire, { group, idleMs: 60_000 }));
    wire.push('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    wire.push('1\r\nx\r\n'.repeat(20_000));
    return wire;
  };
  const wires = ['many', 'many', 'many', 'many', 'other'].map(begin);
  const ofOther = (): number => order.filter((group) => group === 'other').length;
  await until('the other has had its turns', () => ofOther() >= 20);
  t.true(most <= (16 * 1024) / 6 + 1, `${most}`);
  const meanwhile = order.slice(order.indexOf('other'), order.lastIndexOf('other'));
  t.true(meanwhile.filter((group) => group === 'many').length <= 25, meanwhile.join(' '));
  for (const wire of wires) wire.destroy();
});

test('ends of lines without end are parsed as they come, and not kept', async (t) => {
  const { wire, parsed } = serving(() => undefined);
  wire.push(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'\r'.repeat(10_000)}`);
  await until('it is answered', () => wire.said !== '');
  t.regex(wire.said, /^HTTP\/1\.1 400 /);
  t.is(parsed(), 0);
  wire.destroy();
});
