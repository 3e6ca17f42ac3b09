/** A backup that is made as `ops/OPERATING.md` says, of a service that runs, and restored in its place while its work still runs. */
import test from 'ava';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Client, numberAt, objectOf, path, textAt } from '../e2e/client.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openEmptyDatabase } from '../support/postgres.js';

const run = promisify(execFile);
const JOBS = path('jobs', 'default');
const BOXES = path('sandboxes', 'default');
const DESK = path('workspaces', 'default', 'desk');
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

async function make(client: Client, plural: string, kind: string, name: string, spec: object): Promise<void> {
  const made = await client.post(path(plural, 'default'), objectOf(kind, name, spec));
  if (made.status !== 201) throw new Error(made.text);
}

async function sandbox(client: Client, name: string): Promise<void> {
  await make(client, 'sandboxes', 'Sandbox', name, { image: 'svc/agent-tools', resources: SMALL });
  await runsAt(client, `${BOXES}/${name}`, 1);
}

async function runsAt(client: Client, place: string, epoch: number): Promise<void> {
  await until(
    `${place} runs at epoch ${epoch}`,
    async () => {
      const { status } = (await client.get(place)).body as { status?: unknown };
      return textAt(status, 'phase') === 'Running' && numberAt(status, 'attempt', 'epoch') === epoch;
    },
    90_000,
  );
}

/** The two commands of `ops/OPERATING.md` that copy files: of a service that was stopped, and of one that runs. */
async function documentedCopies(): Promise<readonly string[]> {
  const text = await readFile(fileURLToPath(new URL('../../../ops/OPERATING.md', import.meta.url)), 'utf8');
  return [...text.matchAll(/^tar .*-czf .*$/gm)].map(([line]) => line);
}

/** Carries the command out for this data directory. 1 of `tar` is for files that changed meanwhile, as the document says. */
async function copyAs(command: string, dataDir: string, archive: string): Promise<void> {
  const inPlace = command.replace('-C .data ', `-C '${dataDir}' `).replace(/-czf \S+/, `-czf '${archive}'`);
  const { code, stderr } = await run('sh', ['-c', inPlace]).then(
    () => ({ code: 0, stderr: '' }),
    (error: { readonly code: number; readonly stderr: string }) => error,
  );
  if (code > 1) throw new Error(`${inPlace}: ${stderr}`);
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
    await sandbox(first.client(), 'kept');
    await make(first.client(), 'volumes', 'Volume', 'home', {});
    await make(first.client(), 'workspaces', 'Workspace', 'desk', { volume: 'home', resources: SMALL });
    await runsAt(first.client(), DESK, 1);
    const notes = [`${BOXES}/kept/files?path=/workspace/note`, `${DESK}/files?path=/home/svc/note`];
    for (const note of notes) t.is((await first.client().ask('PUT', note, { raw: 'unsaved' })).status, 200);

    // First the database, then the files: every blob and log that a row names is then there. The service runs on meanwhile, and
    // its next process comes between the two.
    const backup = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
    t.teardown(() => rm(backup, { recursive: true, force: true }));
    const dump = join(backup, 'database.dump');
    await run(`${clients}/pg_dump`, ['--format=custom', `--file=${dump}`, first.databaseUrl]);
    await first.kill();
    await first.start();
    await job(first.client(), 'after', 'echo later');
    const [whileStopped = '', whileRunning = '', ...more] = await documentedCopies();
    t.deepEqual(more, []);
    t.notRegex(whileStopped, /exclude/, 'runner/scratch has what is not saved yet');
    const files = join(backup, 'files.tar.gz');
    await copyAs(whileRunning, dataDir, files);
    // It keeps the runner alive.
    await sandbox(first.client(), 'box');
    const seen = await newestOf(first.client());
    await first.kill();

    const { url } = await openEmptyDatabase(t);
    await run(`${clients}/pg_restore`, ['--no-owner', '--exit-on-error', `--dbname=${url}`, dump]);
    // The runner of before still writes there.
    await rm(dataDir, { recursive: true, maxRetries: 10 });
    await mkdir(dataDir, { mode: 0o700 });
    await run('tar', ['--numeric-owner', '-C', dataDir, '-xzf', files]);
    await writeFile(join(dataDir, 'restored'), '');
    const second = await startRunning(t, { databaseUrl: url, dataDir, env: OWN_KEY });
    const client = second.client();
    t.regex(second.log(), /is not the directory that it was started on/);
    t.is((await client.get(`${JOBS}/before/logs`)).text, log);
    t.is((await client.get(`${JOBS}/before/outputs/outputs`)).text, output);
    t.is((await client.get(`${BLOBS}/${textAt(blob.body, 'digest')}`)).text, 'content');
    for (const place of [`${BOXES}/kept`, DESK]) await runsAt(client, place, 2);
    for (const note of notes) t.is((await client.get(note)).text, 'unsaved', 'it was only in the scratch');
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
