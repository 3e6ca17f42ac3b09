/** How output reaches the SSH library: in slices, orgs in turns, and only while it would leave at once. */
import { EventEmitter } from 'node:events';
import { Duplex, Writable } from 'node:stream';
import test from 'ava';
import type { Connection } from 'ssh2';
import { Outlet, OUTPUT_SLICE } from '../../http/ssh/outlet.js';

const GOES_ON = new AbortController().signal;

interface Made {
  readonly outlet: Outlet;
  readonly client: EventEmitter;
  exchangesKeys(on: boolean): void;
  readonly socket: Duplex;
  /** Lets the socket send what it holds. */
  send(): void;
}

function made(org: string): Made {
  const protocol = { _kexinit: undefined, _handlers: { CHANNEL_OPEN: () => undefined } };
  const client = Object.assign(new EventEmitter(), { _protocol: protocol });
  let send: () => void = () => undefined;
  const socket = new Duplex({
    writableHighWaterMark: 1,
    write: (_chunk, _encoding, done) => (send = done),
    read: () => undefined,
  });
  return {
    outlet: new Outlet(client as unknown as Connection, socket, org),
    ...{ client, socket },
    exchangesKeys: (on) => Reflect.set(protocol, '_kexinit', on ? Buffer.alloc(1) : undefined),
    send: () => send(),
  };
}

/** A channel whose client takes all, and each slice of which costs a millisecond. */
function dear(onSlice: (bytes: number) => void): Writable {
  return new Writable({
    write({ length }: Buffer, _encoding, done) {
      const end = performance.now() + 1;
      while (performance.now() < end);
      onSlice(length);
      done();
    },
  });
}

test('a program that prints much has one slice in a turn of the loop, and another org every second', async (t) => {
  const order: string[] = [];
  let inOneTurn = 0;
  let most = 0;
  let largest = 0;
  const all = ['many', 'many', 'many', 'many', 'other'].map((org) => {
    const channel = dear((bytes) => {
      order.push(org);
      largest = Math.max(largest, bytes);
      most = Math.max(most, (inOneTurn += 1));
      setImmediate(() => (inOneTurn = 0));
    });
    return made(org).outlet.write(channel, Buffer.alloc(20 * OUTPUT_SLICE), GOES_ON);
  });
  t.deepEqual(await Promise.all(all), Array(5).fill(true));
  t.is(order.length, 100);
  t.is(most, 1);
  t.is(largest, OUTPUT_SLICE);
  const meanwhile = order.slice(order.indexOf('other'), order.lastIndexOf('other'));
  t.true(meanwhile.filter((org) => org === 'many').length <= 25, meanwhile.join(' '));
});

test('of output nothing goes to a client that exchanges keys or does not read, and all of it afterwards', async (t) => {
  const { outlet, client, exchangesKeys, socket, send } = made('one');
  let bytes = 0;
  const channel = dear((length) => (bytes += length));
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  exchangesKeys(true);
  const written = Promise.all([0, 1, 2].map(() => outlet.write(channel, Buffer.alloc(2 * OUTPUT_SLICE), GOES_ON)));
  await turns();
  t.is(bytes, 0);
  socket.write('more than it takes');
  exchangesKeys(false);
  client.emit('handshake');
  await turns();
  t.is(bytes, 0);
  send();
  t.deepEqual(await written, [true, true, true]);
  t.is(bytes, 6 * OUTPUT_SLICE);
});

test('a wait for a client ends with its connection', async (t) => {
  const { outlet, exchangesKeys, socket } = made('one');
  const gone = new AbortController();
  exchangesKeys(true);
  const channel = dear(() => t.fail());
  const waiting = outlet.write(channel, Buffer.alloc(10), gone.signal);
  await new Promise((resolve) => setImmediate(resolve));
  gone.abort();
  t.false(await waiting);
  t.false(await outlet.write(channel, Buffer.alloc(10), gone.signal));
  exchangesKeys(false);
  socket.emit('drain');
  // One of another that came later has had its turn.
  t.true(
    await made('one').outlet.write(
      dear(() => undefined),
      Buffer.alloc(1),
      GOES_ON,
    ),
  );
});
