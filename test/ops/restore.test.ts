/** A backup that is made as `ops/OPERATING.md` says, of a service that runs, and restored elsewhere when the first place is gone. */
import test from 'ava';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Client, objectOf, path, textAt } from '../e2e/client.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openTestDatabase } from '../support/postgres.js';

const run = promisify(execFile);
const JOBS = path('jobs', 'default');
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

withDump(
  'a backup of Postgres and of the data directory, restored into a fresh place, has everything and goes on',
  async (t) => {
    t.timeout(240_000);
    const first = await startRunning(t, { env: OWN_KEY });
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
    const dataDir = join(backup, 'data');
    await cp(first.dataDir, dataDir, {
      recursive: true,
      preserveTimestamps: true,
      filter: (from) => !from.includes('/scratch/'),
    });
    await first.close();

    const { url } = await openTestDatabase(t);
    await run(`${clients}/pg_restore`, ['--no-owner', '--exit-on-error', `--dbname=${url}`, dump]);
    const second = await startRunning(t, { databaseUrl: url, dataDir, env: OWN_KEY });
    const client = second.client();
    t.is((await client.get(`${JOBS}/before/logs`)).text, log);
    t.is((await client.get(`${JOBS}/before/outputs/outputs`)).text, output);
    t.is((await client.get(`${BLOBS}/${textAt(blob.body, 'digest')}`)).text, 'content');
    t.is((await client.get(`${JOBS}/after`)).status, 404, 'it is from after the dump');
    await job(client, 'again', 'echo the log; echo "$WORD" | sha256sum | cut -c1-8');
    t.is((await client.get(`${JOBS}/again/logs`)).text, log, 'the secret is the same');
  },
);
