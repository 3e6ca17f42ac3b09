/** Processes of a service that crash tests kill beside it, and where its own Postgres is after that. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPidFile } from '../../src/app/postgres/pid-file.js';
import { processesOn } from '../e2e/processes.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

/** It may be on its way: a service that has just started starts one. */
export function runnerOf(service: Running): Promise<number> {
  return until('there is a runner', () => {
    for (const [each, line] of processesOn(service.dataDir)) {
      if (/^\S*node .*runner\/main\.js/.test(line)) return each;
    }
    return undefined;
  });
}

/** Of the service's own Postgres, as it listens now, or in a moment. */
export async function openDatabaseUrl({ dataDir }: Running): Promise<string> {
  const password = (await readFile(join(dataDir, 'postgres', 'password'), 'utf8')).trim();
  const port = await until('Postgres is ready', async () => {
    const found = await readPidFile(join(dataDir, 'postgres', 'cluster'));
    return found?.phase === 'Ready' && found.port;
  });
  return `postgres://troupe:${password}@127.0.0.1:${port}/troupe`;
}
