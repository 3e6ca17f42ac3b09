/**
 * The service that test files share which kill it, or its runner. Each of their tests that uses it is serial, and so has it for itself, and first
 * makes what it needs: the test before may have ended all that ran.
 */
import { freePort } from '../../src/app/free-port.js';
import { shareRunning, type Running } from '../e2e/running.js';

let chosen: Promise<number> | undefined;

/** Where it listens for SSH (`workspaces/ssh.test.ts`), also after a restart. */
export function sshPort(): Promise<number> {
  chosen ??= freePort();
  return chosen;
}

export async function shareKilled(): Promise<Running> {
  return shareRunning(undefined, { env: { TROUPE_SSH_PORT: String(await sshPort()) } });
}
