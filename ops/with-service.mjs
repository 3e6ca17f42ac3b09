/**
 * Runs a command against a service of its own: `node ops/with-service.mjs COMMAND ARGUMENTS…` starts the built service
 * with fresh data and free ports, runs the command with the service's base URL as its last argument (and as
 * `TROUPE_URL`, its Owner key as `TROUPE_KEY`), takes everything down, and exits as the command did.
 */
import { spawn } from 'node:child_process';
import { prepare } from './prepare.mjs';

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error('usage: node ops/with-service.mjs COMMAND ARGUMENTS…');

await prepare();
const { startService } = await import('../dist/test/support/service.js');
const service = await startService({ env: { DATABASE_URL: '' } });
try {
  process.exitCode = await new Promise((resolve, reject) => {
    const child = spawn(program, [...args, service.url], {
      stdio: 'inherit',
      env: { ...process.env, TROUPE_URL: service.url, TROUPE_KEY: service.adminKey },
    });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
} finally {
  await service.close();
}
