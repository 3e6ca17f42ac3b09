/** What a killed service leaves behind is adopted or stopped by the next start: its Postgres, its runner, running work. */
import type { ExecutionContext } from 'ava';
import { readdir } from 'node:fs/promises';
import { Client as Database } from 'pg';
import { oneAfterAnother } from '../crash/one-after-another.js';
import { listAt, numberAt, objectOf, path, textAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const JOBS = path('jobs', 'default');

const withOwnPostgres = oneAfterAnother((scope) =>
  startRunning(scope, { databaseUrl: 'embedded', env: { TROUPE_COMPUTE: 'off' } }),
);
const withWork = oneAfterAnother((scope) => startRunning(scope));

async function postmasters(dataDir: string): Promise<number> {
  const files = await readdir(dataDir, { recursive: true });
  return files.filter((file) => file.endsWith('postmaster.pid')).length;
}

withOwnPostgres('a start after SIGKILL adopts the embedded Postgres, and nothing is lost', async (t, service) => {
  const collection = path('serviceaccounts', 'default');
  t.is((await service.client().post(collection, objectOf('ServiceAccount', 'kept', {}))).status, 201);
  t.is(await postmasters(service.dataDir), 1);
  await service.kill();
  await service.start();
  t.is((await service.client().get(`${collection}/kept`)).status, 200);
  t.is(await postmasters(service.dataDir), 1);
});

withOwnPostgres('SIGTERM of a service with an embedded Postgres leaves no process on its data', async (t, service) => {
  t.true(processesOn(service.dataDir).size > 0);
  service.signal('SIGTERM');
  await until('it has ended', () => !service.alive(), 40_000);
  await until('nothing runs on its data', async () => processesOn(service.dataDir).size === 0, 20_000);
  t.pass();
});

withWork(
  'work that runs when the service is killed goes on, and is adopted with its logs and exit code',
  async (t, service) => {
    const command = [
      'sh',
      '-c',
      'echo begin; for i in 1 2 3 4 5 6 7 8; do sleep 0.5; echo line $i; done; echo end; exit 0',
    ];
    const spec = { command, completions: 2, parallelism: 2, resources: { cpu: '50m', memory: '32Mi', disk: '16Mi' } };
    t.is((await service.client().post(JOBS, objectOf('Job', 'goes-on', spec))).status, 201);
    const logs = async (index: number): Promise<string> =>
      (await service.client().get(`${JOBS}/goes-on/logs?index=${index}`)).text;
    await until(
      'both indexes run',
      async () => (await logs(0)).includes('line 1') && (await logs(1)).includes('line 1'),
      30_000,
    );
    await service.kill();
    await service.start();
    const job = await until(
      'the Job ends',
      async () => {
        const { body } = await service.client().get(`${JOBS}/goes-on`);
        return textAt(body, 'status', 'phase') === 'Running' ? undefined : body;
      },
      60_000,
    );
    t.is(textAt(job, 'status', 'phase'), 'Succeeded');
    for (const index of [0, 1]) {
      const text = await logs(index);
      for (const line of ['begin', 'line 1', 'line 8', 'end'])
        t.is(text.split(line).length - 1, 1, `${line} of index ${index}`);
    }
    const attempts = await service.client().get(`${path('attempts', 'default')}?labelSelector=svc.dev%2Fjob%3Dgoes-on`);
    const epochs = listAt(attempts.body, 'items').map((item) => numberAt(item, 'spec', 'epoch'));
    t.deepEqual(epochs, [1, 1], 'no index was started again');
  },
);

withWork(
  'work that is at its inputs when the service is killed begins all the same, and no start of it fails',
  async (t, service) => {
    const resources = { cpu: '50m', memory: '32Mi', disk: '64Mi' };
    const many =
      'mkdir /svc/outputs/many; i=0; while [ $i -lt 200 ]; do echo $i > /svc/outputs/many/$i; i=$((i+1)); done';
    const ended = async (name: string): Promise<unknown> =>
      until(
        `${name} ends`,
        async () => {
          const { body } = await service.client().get(`${JOBS}/${name}`);
          return ['Succeeded', 'Failed'].includes(textAt(body, 'status', 'phase')) ? body : undefined;
        },
        90_000,
      );
    t.is(
      (await service.client().post(JOBS, objectOf('Job', 'makes', { command: ['sh', '-c', many], resources }))).status,
      201,
    );
    t.is(textAt(await ended('makes'), 'status', 'phase'), 'Succeeded');
    const output = { job: 'makes', name: 'outputs' };
    const inputs = Array.from({ length: 6 }, (_, n) => ({ name: `i${n}`, output }));
    const takes = { command: ['sh', '-c', 'ls /svc/inputs/i5/many | wc -l'], inputs, backoffLimit: 0, resources };
    const names = Array.from({ length: 4 }, (_, n) => `takes-${n}`);
    for (const name of names) t.is((await service.client().post(JOBS, objectOf('Job', name, takes))).status, 201);
    await until('the first has its place', async () => {
      const { body } = await service.client().get(path('attempts', 'default'));
      return listAt(body, 'items').some((item) => textAt(item, 'status', 'phase') === 'Provisioning');
    });
    await service.kill();
    await service.start();
    for (const name of names) {
      const job = await ended(name);
      t.is(textAt(job, 'status', 'phase'), 'Succeeded', textAt(job, 'status', 'message'));
    }
  },
);

withWork(
  'the runner is one process, the same after a SIGKILL of the service, and obeys a database that was restored',
  async (t, service) => {
    const spec = { command: ['sleep', '20'], resources: { cpu: '50m', memory: '32Mi', disk: '16Mi' } };
    t.is((await service.client().post(JOBS, objectOf('Job', 'long', spec))).status, 201);
    await until(
      'it runs',
      async () => textAt((await service.client().get(`${JOBS}/long`)).body, 'status', 'phase') === 'Running',
      30_000,
    );
    const runners = async (): Promise<readonly number[]> =>
      [...processesOn(service.dataDir)]
        .filter(([pid, line]) => pid !== service.pid() && /runner/.test(line) && /node/.test(line))
        .map(([pid]) => pid)
        .toSorted((a, b) => a - b);
    const before = await runners();
    t.true(before.length > 0, 'there is a runner');
    await service.kill();
    const restore = await backUp(t, service.databaseUrl);
    await service.start();
    t.deepEqual(await runners(), before);

    const succeeds = async (name: string): Promise<void> => {
      const short = { command: ['true'], resources: spec.resources };
      t.is((await service.client().post(JOBS, objectOf('Job', name, short))).status, 201);
      await until(
        `the runner obeys: ${name}`,
        async () => textAt((await service.client().get(`${JOBS}/${name}`)).body, 'status', 'phase') === 'Succeeded',
        30_000,
      );
    };
    // The runner obeys the third process, and is then met by a database from the time of the first one.
    await service.kill();
    await service.start();
    await succeeds('of-the-third');
    await service.kill();
    await restore();
    await service.start();
    t.deepEqual(await runners(), before);
    t.regex(service.log(), /restored from a backup/);
    await succeeds('of-the-restored');
    t.is((await service.client().remove(`${JOBS}/long`, { propagationPolicy: 'Background' })).status, 200);
  },
);

/** Copies the database, which nothing may use; answers a function that puts the copy in its place. */
async function backUp(t: ExecutionContext, databaseUrl: string): Promise<() => Promise<void>> {
  const url = new URL(databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const server = new Database({ connectionString: url.href });
  await server.connect();
  t.teardown(() => server.end());
  // A killed process's connections end a moment after it.
  await until('it is copied', () => server.query(`create database ${name}_backup template ${name}`));
  return async () => {
    await server.query(`drop database ${name} with (force)`);
    await server.query(`alter database ${name}_backup rename to ${name}`);
  };
}
