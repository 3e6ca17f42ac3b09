/** What an SSH client may send before it is known. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { Intake } from '../../http/ssh/intake.js';
import { until } from '../e2e/until.js';

test('a client that has not logged in is cut once it has sent more than a login takes, and one that has is not', async (t) => {
  const server = createServer({ allowHalfOpen: true });
  t.teardown(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (const loggedIn of [false, true]) {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    const [socket] = (await once(server, 'connection')) as [Socket];
    socket.on('error', () => undefined);
    const intake = new Intake(socket, '127.0.0.1');
    t.is(intake.remotePort, client.localPort);
    if (loggedIn) intake.loggedIn();
    let bytes = 0;
    intake.on('data', ({ length }: Buffer) => (bytes += length));
    client.resume();
    client.write(Buffer.alloc(200_000));
    if (loggedIn) await until('all has come', () => bytes === 200_000);
    else await until('it is cut', () => client.closed);
    t.true(loggedIn || (bytes > 32_000 && bytes <= 64 * 1024), `${bytes}`);
    client.destroy();
  }
});
