/**
 * A program that makes the data which `older-data.test.ts` opens: it starts the service of its own build, lets work begin and end, kills the
 * service and its runner in the midst of it, and packs what they leave. See README.md beside it.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { listAt, objectOf, path, textAt, type Answer, type Client } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { SMALL, sh } from '../jobs/jobs.js';
import { keepDoneEffects, withDatabase } from './older.js';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: make-data FOLDER');
const run = promisify(execFile);

async function made(answer: Promise<Answer>): Promise<void> {
  const { status, text } = await answer;
  if (status >= 300) throw new Error(text);
}

async function phase(client: Client, at: string, wanted: RegExp): Promise<void> {
  await until(
    `${at} is ${wanted.source}`,
    async () => wanted.test(textAt((await client.get(at)).body, 'status', 'phase')),
    60_000,
  );
}

// A port at which nothing listens.
const closed = createServer();
await once(closed.listen(0, '127.0.0.1'), 'listening');
const address = closed.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;
await new Promise((resolve) => closed.close(resolve));

const service = await startRunning(undefined, { env: { TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8' } });
try {
  const client = service.client();
  await keepDoneEffects(service);
  const post = (plural: string, kind: string, name: string, spec: object, headers = {}): Promise<void> =>
    made(client.post(path(plural, 'default'), objectOf(kind, name, spec), headers));
  const job = (name: string, spec: object, headers = {}): Promise<void> =>
    post('jobs', 'Job', name, { resources: SMALL, ...spec }, headers);
  const jobs = path('jobs', 'default');
  const box = (name: string, command: readonly string[]): Promise<void> =>
    post('sandboxes', 'Sandbox', name, { image: 'svc/agent-tools', resources: SMALL, command });
  const boxes = path('sandboxes', 'default');
  const desk = path('workspaces', 'default', 'desk');
  const set = (at: string, state: string): Promise<void> => made(client.merge(at, { spec: { state } }));

  await post('secrets', 'Secret', 'token', { stringData: { VALUE: 'first' } });
  const second = { spec: { stringData: { VALUE: 'second' } } };
  await made(client.merge(path('secrets', 'default', 'token'), second));

  await job(
    'finished',
    { command: sh('echo ran $SVC_INDEX; echo kept $SVC_INDEX > /svc/outputs/x'), completions: 2 },
    { 'idempotency-key': 'of-the-version-before' },
  );
  await phase(client, `${jobs}/finished`, /Succeeded/);

  const notes = sh('echo $SVC_EPOCH >> /workspace/epochs; exec sleep infinity');
  await box('saved', notes);
  await box('runs', notes);
  await box('stops', sh("trap '' TERM; while :; do sleep 1; done"));
  await post('volumes', 'Volume', 'home', {});
  await post('workspaces', 'Workspace', 'desk', { resources: SMALL, volume: 'home' });
  for (const name of ['saved', 'runs', 'stops']) await phase(client, `${boxes}/${name}`, /Running/);
  await phase(client, desk, /Running/);
  await made(client.post(`${desk}/exec`, { command: ['sh', '-c', 'echo precious > ~/file'] }));
  await set(`${boxes}/saved`, 'Stopped');
  await set(desk, 'Stopped');
  await phase(client, `${boxes}/saved`, /Stopped/);
  await phase(client, desk, /Stopped/);
  await set(desk, 'Running');
  await phase(client, desk, /Running/);

  await job('paused', { command: ['echo', 'ran'], state: 'Suspended' });
  await job('overdue', { command: ['sleep', '600'], timeout: '2m' });
  await job('runs', {
    command: sh('[ $SVC_INDEX = 1 ] || [ $SVC_EPOCH = 2 ] || exec sleep 600; cat /run/secrets/VALUE'),
    completions: 2,
    parallelism: 2,
    secrets: [{ name: 'token' }],
  });
  await until(
    'one index has ended and the other runs',
    async () => {
      const { body } = await client.get(`${path('attempts', 'default')}?labelSelector=svc.dev%2Fjob%3Druns`);
      return (
        listAt(body, 'items')
          .map((item) => textAt(item, 'status', 'phase'))
          .toSorted()
          .join() === 'Running,Succeeded'
      );
    },
    60_000,
  );
  await phase(client, `${jobs}/overdue`, /Running/);
  const url = `https://127.0.0.1:${port}/hook`;
  const hook = objectOf('WebhookEndpoint', 'hook', { url, eventTypes: ['job.cancelled'] });
  await made(client.post(path('webhookendpoints', ''), hook));
  await job('cancelled', { command: ['true'], state: 'Suspended' });
  await job('retries', { command: sh('echo try $SVC_EPOCH; [ $SVC_EPOCH -gt 1 ]') });
  await until('it was tried', async () => (await client.get(`${jobs}/retries/logs`)).text.includes('try'), 60_000);
  await set(`${jobs}/cancelled`, 'Cancelled');
  await set(`${boxes}/stops`, 'Stopped');
  await phase(client, `${boxes}/stops`, /Stopping/);
  await until(
    'a delivery has failed once',
    () =>
      withDatabase(service, async (database) => {
        const { rowCount } = await database.query("SELECT FROM deliveries WHERE phase = 'Pending' AND attempts > 0");
        return (rowCount ?? 0) > 0;
      }),
    60_000,
  );

  await service.kill();
  for (const pid of processesOn(service.dataDir).keys()) process.kill(pid, 'SIGKILL');
  await until('its runner is gone', () => processesOn(service.dataDir).size === 0);
  await withDatabase(service, (database) =>
    database.query('DROP TRIGGER keep_done ON effects; DROP FUNCTION keep_row'),
  );
  await mkdir(folder, { recursive: true });
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const dump = ['--no-owner', '--no-privileges', '--inserts', service.databaseUrl];
  const { stdout } = await run(process.env['PG_DUMP'] ?? 'pg_dump', dump, options);
  // What is for psql alone.
  const sql = stdout.replaceAll(/^\\.*\n/gm, '');
  await writeFile(join(folder, 'database.sql.gz'), gzipSync(`-- killed at ${Date.now()}\n${sql}`, { level: 9 }));
  const files = ['id', 'admin.key', 'blobs', 'runner/id', 'runner/journal.jsonl', 'runner/logs'];
  await run('tar', ['-C', service.dataDir, '-czf', join(folder, 'files.tar.gz'), ...files]);
} finally {
  await service.close();
}
