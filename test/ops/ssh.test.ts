/** The port for SSH: where it is taken, people get the reason, and are led to no stranger's server. */
import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { openLeaderFacade } from '../../src/app/leader-facade.js';
import { openLog } from '../../src/app/log.js';
import { openSsh } from '../../src/app/ssh.js';
import { loadConfig } from '../../src/config.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { openStore } from '../../storage/open.js';
import { openTestDatabase } from '../support/postgres.js';

/** Another program on this port (any free one for 0); one that is taken already does as well. */
async function taken(t: ExecutionContext, port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve()).listen(port, '127.0.0.1', () => resolve());
  });
  t.teardown(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

async function opened(t: ExecutionContext, env: Readonly<Record<string, string>>) {
  const { url } = await openTestDatabase(t);
  const store = await openStore({ url, seal: (_, plain) => plain, open: (_, sealed) => sealed });
  t.teardown(() => store.close());
  const loaded = loadConfig(env);
  if (loaded.outcome === 'Invalid') throw new Error(loaded.lines.join());
  const keys = masterKeys(masterKey(Buffer.alloc(32, 1)));
  const ssh = await openSsh(loaded.config, store, keys, openLeaderFacade(store, {} as Blobs), openLog('fatal').log);
  t.teardown(() => ssh.server?.close());
  return ssh;
}

test('a default port that is taken is replaced by a free one, to which status.connect leads', async (t) => {
  await taken(t, 2222);
  const ssh = await opened(t, {});
  const port = ssh.facts.ssh?.port ?? 0;
  t.true(port > 0 && port !== 2222);
  const [greeting] = await once(openSocket(t, port), 'data');
  t.regex(String(greeting), /^SSH-2.0/);
});

test('a chosen port that is taken stays closed, and every Workspace shows why', async (t) => {
  const port = await taken(t, 0);
  const { server, facts } = await opened(t, { TROUPE_SSH_PORT: String(port) });
  t.is(server, undefined);
  t.is(facts.ssh, undefined);
  t.is(facts.sshClosed?.reason, 'PortTaken');
  t.true(facts.sshClosed?.message.includes(String(port)) && facts.sshClosed.message.includes('TROUPE_SSH_PORT'));
});

test('a port that is turned off is reported as that', async (t) => {
  t.is((await opened(t, { TROUPE_SSH_PORT: '0' })).facts.sshClosed?.reason, 'TurnedOff');
});

function openSocket(t: ExecutionContext, port: number) {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => void socket.destroy());
  return socket;
}
