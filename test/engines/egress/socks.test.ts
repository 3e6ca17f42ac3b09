import test from 'ava';
import fc from 'fast-check';
import { parseGreeting, parseRequest, REPLY } from '../../../src/engines/compute/shared/egress/socks.js';

const port = Buffer.from([0x01, 0xbb]);
const request = (command: number, type: number, address: Buffer): Buffer =>
  Buffer.concat([Buffer.from([5, command, 0, type]), address, port]);
const byName = (host: string): Buffer => request(1, 3, Buffer.concat([Buffer.from([host.length]), Buffer.from(host)]));

test('names and both kinds of addresses are understood', (t) => {
  t.like(parseRequest(byName('Example.ORG')), { kind: 'Connect', target: { host: 'example.org', port: 443 } });
  t.like(parseRequest(request(1, 1, Buffer.from([1, 2, 3, 4]))), { target: { host: '1.2.3.4', isAddress: true } });
  const six = Buffer.alloc(16);
  six[15] = 1;
  t.like(parseRequest(request(1, 4, six)), { target: { host: '::1', isAddress: true } });
  t.like(parseRequest(byName('127.0.0.1')), { target: { host: '127.0.0.1', isAddress: true } });
});

test('every command but CONNECT and every other type of address is refused by its own code', (t) => {
  const address = Buffer.from([1, 2, 3, 4]);
  for (const command of [2, 3, 9]) {
    t.deepEqual(parseRequest(request(command, 1, address)), { kind: 'Refused', reply: REPLY.commandNotSupported });
  }
  t.deepEqual(parseRequest(request(1, 2, address)), { kind: 'Refused', reply: REPLY.addressTypeNotSupported });
  t.deepEqual(parseRequest(byName('a b')), { kind: 'Refused', reply: REPLY.failed });
});

test('a handshake that comes in pieces is waited for, and never read past its end', (t) => {
  const whole = byName('example.org');
  fc.assert(
    fc.property(fc.nat(whole.length), fc.uint8Array({ maxLength: 40 }), (cut, more) => {
      const parsed = parseRequest(whole.subarray(0, cut));
      t.is(parsed.kind, cut < whole.length ? 'More' : 'Connect');
      t.like(parseRequest(Buffer.concat([whole, more])), { kind: 'Connect', length: whole.length });
    }),
  );
});

test('no bytes at all make the parsers throw', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      parseGreeting(Buffer.from(bytes));
      parseRequest(Buffer.from(bytes));
      parseRequest(Buffer.from([5, 1, 0, ...bytes]));
    }),
  );
  t.deepEqual(parseGreeting(Buffer.from([5, 1, 2])), { kind: 'Greeting', noAuthentication: false, length: 3 });
  t.deepEqual(parseGreeting(Buffer.from([5, 2, 2, 0, 9])), { kind: 'Greeting', noAuthentication: true, length: 4 });
  t.deepEqual(parseGreeting(Buffer.from([4, 1])), { kind: 'Bad' });
});
