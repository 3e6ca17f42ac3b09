/** What the way to a Docker daemon costs, whatever is asked of it at the same time. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import test from 'ava';
import { openDaemon } from '../../src/engines/compute/docker/daemon.js';
import { until } from '../e2e/until.js';

const OPEN = 20;

test('what the client writes down for each request does not grow with the requests that are open', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-daemon-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  let asked = 0;
  // Never answers.
  const server = createServer(() => void asked++);
  await once(server.listen(join(dir, 'socket')), 'listening');
  const { docker, close } = await openDaemon(`unix://${join(dir, 'socket')}`);
  t.teardown(() => {
    close();
    server.close().closeAllConnections();
  });
  const { agent } = docker.modem as unknown as { readonly agent: object };
  const requests = Array.from({ length: OPEN }, () => docker.ping());
  await until('all are asked', () => asked === OPEN);
  // As docker-modem does with all of a request's options.
  t.true(inspect({ agent }, { showHidden: true, depth: null }).length < 100);

  close();
  for (const { status } of await Promise.allSettled(requests)) t.is(status, 'rejected');
});
