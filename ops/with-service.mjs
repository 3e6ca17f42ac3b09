/**
 * Runs a command against a service of its own: `node ops/with-service.mjs COMMAND ARGUMENTS…` starts the built service
 * with fresh data and free ports, runs the command with the service's base URL as its last argument (and as
 * `TROUPE_URL`, its Owner key as `TROUPE_KEY`), takes everything down, and exits as the command did.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error('usage: node ops/with-service.mjs COMMAND ARGUMENTS…');

await prepare();
const { startRunning } = await import('../dist/test/e2e/running.js');
const service = await startRunning(undefined, { databaseUrl: 'embedded' });
try {
  const key = readFileSync(join(service.dataDir, 'admin.key'), 'utf8').trim();
  process.exitCode = await new Promise((resolve, reject) => {
    const child = spawn(program, [...args, service.url], {
      stdio: 'inherit',
      env: { ...process.env, TROUPE_URL: service.url, TROUPE_KEY: key },
    });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
} finally {
  await service.close();
}
