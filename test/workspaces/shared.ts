/**
 * The service that test files of Workspaces share. Some kill it, in tests that are serial: each of them has it for itself. Another program has the
 * port that is set for SSH (`life.test.ts`), and tools have an origin of their own for each Workspace (`tools.test.ts`).
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { shareRunning, type Running } from '../e2e/running.js';

const stranger = createServer();
let listening: Promise<unknown> | undefined;

export async function shareWorkspaces(): Promise<Running> {
  listening ??= once(stranger.listen(0, '127.0.0.1'), 'listening');
  await listening;
  // It ends with the tests.
  stranger.unref();
  const { port } = stranger.address() as AddressInfo;
  return shareRunning(undefined, { env: { TROUPE_SSH_PORT: String(port), TROUPE_TOOL_DOMAIN: 'localhost' } });
}
