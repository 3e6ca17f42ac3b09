/** A backup that is made as `ops/OPERATING.md` says, of a service that runs, and restored in its place while its work still runs. */
import test from 'ava';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Client, objectOf, path, textAt } from '../e2e/client.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openTestDatabase } from '../support/postgres.js';

const run = promisify(execFile);
const JOBS = path('jobs', 'default');
const BOXES = path('sandboxes', 'default');
const BLOBS = path('blobs', 'default');
const SMALL = { cpu: '20m', memory: '64Mi', disk: '16Mi' };
/** Set to nothing: the key is made in the data directory, as for an operator who sets none. */
const OWN_KEY = { TROUPE_MASTER_KEY: '' };

/** The newest of the system's; absent: the variable below skips the test. */
const clients = await (async () => {
  const majors = (await readdir('/usr/lib/postgresql').catch(() => [])).map(Number).toSorted((a, b) => b - a);
  return majors.length === 0 ? undefined : `/usr/lib/postgresql/${majors[0]}/bin`;
})();
const withDump = clients === undefined ? test.skip : test;

async function job(client: Client, name: string, script: string): Promise<void> {
  const env = [{ name: 'WORD', valueFrom: { secretKeyRef: { name: 'word', key: 'WORD' } } }];
  const spec = { command: ['sh', '-ec', script], secrets: ['word'], env, resources: SMALL };
  const made = await client.post(JOBS, objectOf('Job', name, spec));
  if (made.status !== 201) throw new Error(made.text);
  await until(
    `${name} succeeds`,
    async () => textAt((await client.get(`${JOBS}/${name}`)).body, 'status', 'phase') === 'Succeeded',
    90_000,
  );
}

const newestOf = async (client: Client): Promise<number> =>
  Number(textAt((await client.get(JOBS)).body, 'metadata', 'resourceVersion'));

withDump(
  'a backup of Postgres and of the data directory, restored in its place, has everything and goes on; watches begin anew',
  async (t) => {
    t.timeout(240_000);
    const dataDir = await mkdtemp(join(tmpdir(), 'troupe-restored-'));
    t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }));
    const first = await startRunning(t, { dataDir, env: OWN_KEY });
    t.is(
      (
        await first
          .client()
          .post(path('secrets', 'default'), objectOf('Secret', 'word', { stringData: { WORD: 'swordfish' } }))
      ).status,
      201,
    );
    await job(
      first.client(),
      'before',
      'echo the log; echo "$WORD" | sha256sum | cut -c1-8; echo 42 > /svc/outputs/answer',
    );
    const blob = await first.client().ask('POST', BLOBS, { raw: 'content', contentType: 'application/octet-stream' });
    t.is(blob.status, 201, blob.text);
    const log = (await first.client().get(`${JOBS}/before/logs`)).text;
    t.regex(log, /^the log\n[0-9a-f]{8}\n$/);
    const output = (await first.client().get(`${JOBS}/before/outputs/outputs`)).text;

    // First the database, then the files: every blob and log that a row names is then there. The service runs on meanwhile, and
    // its next process comes between the two.
    const backup = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
    t.teardown(() => rm(backup, { recursive: true, force: true }));
    const dump = join(backup, 'database.dump');
    await run(`${clients}/pg_dump`, ['--format=custom', `--file=${dump}`, first.databaseUrl]);
    await first.kill();
    await first.start();
    await job(first.client(), 'after', 'echo later');
    const files = join(backup, 'data');
    const how = { recursive: true, preserveTimestamps: true };
    await cp(dataDir, files, { ...how, filter: (from) => !from.includes('/runner/scratch') });
    // It keeps the runner alive.
    const box = objectOf('Sandbox', 'box', { image: 'svc/agent-tools', resources: SMALL });
    t.is((await first.client().post(BOXES, box)).status, 201);
    await until(
      'the Sandbox runs',
      async () => textAt((await first.client().get(`${BOXES}/box`)).body, 'status', 'phase') === 'Running',
      90_000,
    );
    const seen = await newestOf(first.client());
    await first.kill();

    const { url } = await openTestDatabase(t);
    await run(`${clients}/pg_restore`, ['--no-owner', '--exit-on-error', `--dbname=${url}`, dump]);
    await rm(dataDir, { recursive: true });
    await cp(files, dataDir, how);
    await writeFile(join(dataDir, 'restored'), '');
    const second = await startRunning(t, { databaseUrl: url, dataDir, env: OWN_KEY });
    const client = second.client();
    t.regex(second.log(), /is not the directory that it was started on/);
    t.is((await client.get(`${JOBS}/before/logs`)).text, log);
    t.is((await client.get(`${JOBS}/before/outputs/outputs`)).text, output);
    t.is((await client.get(`${BLOBS}/${textAt(blob.body, 'digest')}`)).text, 'content');
    t.is((await client.get(`${JOBS}/after`)).status, 404, 'it is from after the dump');
    await job(client, 'again', 'echo the log; echo "$WORD" | sha256sum | cut -c1-8');
    t.is((await client.get(`${JOBS}/again/logs`)).text, log, 'the secret is the same');

    // So many writes that the versions would have passed those that were seen before.
    for (let i = 0; (await newestOf(client)) <= seen && i < 200; i += 1)
      await client.merge(path('secrets', 'default', 'word'), { metadata: { labels: { round: String(i) } } });
    const watch = await client.get(`${JOBS}?watch=true&resourceVersion=${seen}&timeoutSeconds=2`);
    t.regex(watch.text, /"type":"ERROR".*"code":410/);
    t.is((await client.get(`${JOBS}?resourceVersion=${seen}&resourceVersionMatch=Exact`)).status, 410);
    t.false(existsSync(join(dataDir, 'restored')), 'it is done once');
  },
);
