/** What reaches a parser of what a hostile peer sends: pieces that leave the event loop to others, and no more than its answers allow. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { SlicedConnection, type Directions } from '../../src/engines/sliced-connection.js';
import { until } from '../e2e/until.js';

async function pair(
  org: string,
  directions?: Directions,
): Promise<{ client: Socket; connection: SlicedConnection; close(): void }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  server.close();
  socket.on('error', () => undefined);
  return {
    client,
    connection: new SlicedConnection(socket, org, directions),
    close: () => void [client.destroy(), socket.destroy()],
  };
}

function spend(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('what costs much is done in pieces, with turns of the loop for others between any two', async (t) => {
  const { client, connection, close } = await pair('one');
  t.teardown(close);
  const sent = Buffer.alloc(1024 * 1024, 'packet');
  const got: Buffer[] = [];
  let inOneTurn = 0;
  let most = 0;
  connection.on('data', (chunk: Buffer) => {
    got.push(chunk);
    spend(1);
    most = Math.max(most, (inOneTurn += 1));
    setImmediate(() => (inOneTurn = 0));
  });
  client.end(sent);
  await once(connection, 'end');
  t.true(Buffer.concat(got).equals(sent));
  t.is(most, 1);
  t.true(
    got.slice(1).every(({ length }) => length <= 4096),
    'what costs much comes in the smallest pieces',
  );
  t.true(got.every(({ length }) => length <= 16 * 1024));
});

test('a peer that does not read what is written to it is read no further until it does', async (t) => {
  const { client, connection, close } = await pair('one');
  t.teardown(close);
  let bytes = 0;
  let written = 0;
  connection.on('data', ({ length }: Buffer) => {
    bytes += length;
    written += length * 40;
    connection.write(Buffer.alloc(length * 40));
  });
  const sent = 2 * 1024 * 1024;
  client.pause();
  client.write(Buffer.alloc(sent));
  await until('answers wait', () => connection.writableNeedDrain);
  const before = bytes;
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  t.is(bytes, before);
  t.true(before < sent);
  let answered = 0;
  client.on('data', ({ length }: Buffer) => (answered += length));
  client.resume();
  await until('all is answered', () => bytes === sent && answered === written);
});

test('a peer that reads only as fast as what it sends is taken is read all the same where the directions are apart', async (t) => {
  const { client, connection, close } = await pair('one', 'Apart');
  t.teardown(close);
  client.pause();
  while (connection.write(Buffer.alloc(64 * 1024)));
  await until('what is written waits', () => connection.writableNeedDrain);
  let bytes = 0;
  connection.on('data', ({ length }: Buffer) => (bytes += length));
  client.write(Buffer.alloc(2 ** 20));
  await until('all is read', () => bytes === 2 ** 20);
  t.true(connection.writableNeedDrain);
});

test('of many that send much one from elsewhere has every second turn', async (t) => {
  const many = await Promise.all(Array.from({ length: 5 }, () => pair('many')));
  const other = await pair('other');
  t.teardown(() => [...many, other].forEach(({ close }) => close()));
  const order: string[] = [];
  const take = ({ connection, client }: Awaited<ReturnType<typeof pair>>): void => {
    connection.on('data', () => {
      spend(1);
      order.push(connection.group);
    });
    client.write(Buffer.alloc(40 * 4096));
  };
  many.forEach(take);
  take(other);
  await until('the other has had its turns', () => order.filter((org) => org === 'other').length >= 40);
  const first = order.indexOf('other');
  const meanwhile = order.slice(first, order.lastIndexOf('other')).filter((org) => org === 'many').length;
  // Some more at reads of its socket.
  t.true(meanwhile <= 70, `${meanwhile}`);
});
