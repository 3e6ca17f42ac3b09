/** A disk that is nearly full while there are Jobs: what they have not begun waits and says why, and begins when there is room again. */
import test from 'ava';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oneAfterAnother } from '../crash/one-after-another.js';
import { listAt, objectOf, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { JOBS, openJobs, outcomeOf, phaseOf, sh, SMALL, type Jobs } from '../jobs/jobs.js';

const MIB = 2 ** 20;
const RESERVE_MIB = 32;

/** Holds all data of the service, whose Postgres is elsewhere. */
const disk = mkdtempSync(join(tmpdir(), 'troupe-short-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0755', 'troupe-test', disk]).status === 0;

const onSmallDisk = oneAfterAnother(
  async (scope): Promise<Jobs> => {
    // What a test that failed has left.
    for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true, force: true });
    const env = { TROUPE_DISK_RESERVE: `${RESERVE_MIB}Mi` };
    const jobs = await openJobs({ dataDir: join(disk, 'data'), env });
    scope.teardown(() => jobs.close());
    return jobs;
  },
  mounted ? undefined : 'this machine mounts no tmpfs',
);
// Such hooks are called in the order of their definitions: the service has ended.
test.serial.after.always(() => {
  if (mounted) execFileSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true, force: true });
});

const conditionOf = (object: unknown, type: string): string =>
  textAt(
    listAt(object, 'status', 'conditions').find((one) => textAt(one, 'type') === type),
    'status',
  );

onSmallDisk(
  'while the disk is short a Job begins no Attempt and says why, and it goes on by itself',
  async (t, jobs) => {
    t.timeout(180_000);
    const client = jobs.client();
    const pressure = async (): Promise<string> =>
      conditionOf(listAt((await client.get('/apis/svc.dev/v1/nodes')).body, 'items')[0], 'DiskPressure');
    await jobs.post('later', { state: 'Suspended', command: ['true'] });
    await until('there is room', async () => (await pressure()) === 'False');

    const ballast = join(disk, 'ballast');
    const { bavail, bsize } = await statfs(disk);
    const count = Math.floor((bavail * bsize) / MIB) - RESERVE_MIB / 2;
    execFileSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=1M', `count=${count}`], { stdio: 'ignore' });
    await until('the disk is short', async () => (await pressure()) === 'True');
    const refused = await client.post(JOBS, objectOf('Job', 'new', { resources: SMALL, command: sh('true') }));
    t.is(textAt(refused.body, 'reason'), 'AdmissionsPaused', refused.text);
    t.is((await client.merge(`${JOBS}/later`, { spec: { state: 'Running' } })).status, 200);
    const waiting = await until('the Attempt says why it waits', async () => {
      const [attempt] = await jobs.attempts('later');
      return attempt?.reason === 'WaitingForCapacity' ? attempt : undefined;
    });
    t.is(waiting.phase, 'Queued');
    const [why] = listAt(waiting.body, 'status', 'placement', 'explain', 'rejected');
    t.regex(textAt(why, 'reason'), /disk is nearly full: \d+ MiB are free/);

    await rm(ballast);
    t.is(outcomeOf(await jobs.ended('later')), 'Succeeded Completed');
    t.is((await jobs.attempts('later')).length, 1);
    t.is(await pressure(), 'False');
  },
);

onSmallDisk('a Job that ends while the disk is full ends when its log and its outputs are kept', async (t, jobs) => {
  t.timeout(240_000);
  const ends = sh('echo early >/svc/outputs/early; echo begun; sleep 8; echo late');
  await jobs.post('ends', { command: ends, outputs: [{ name: 'missing', path: '/workspace/missing' }] });
  await until('its output is written', async () => (await jobs.log('ends')).includes('begun'));
  const full = join(disk, 'full');
  const fill = (): void => {
    for (const size of ['1M', '4k'])
      spawnSync('dd', ['if=/dev/zero', `of=${full}`, `bs=${size}`, 'oflag=append', 'conv=notrunc']);
  };
  const collected = (job: unknown): string => conditionOf(job, 'OutputsCollected');
  const waits = await until('it says that what it left is not kept', async () => {
    fill();
    const { body } = await jobs.client().get(`${JOBS}/ends`);
    return collected(body) === 'False' || phaseOf(body) === 'Succeeded' ? body : undefined;
  });
  t.is(phaseOf(waits), 'Running', JSON.stringify(waits));
  await rm(full);
  const ended = await jobs.ended('ends');
  t.is(outcomeOf(ended), 'Succeeded Completed');
  t.is(await jobs.log('ends'), 'begun\nlate\n');
  t.deepEqual(
    listAt(ended, 'status', 'outputs').map((output) => textAt(output, 'name')),
    ['outputs'],
  );
  // No fault of the machine: the Job says so, and does not wait for it.
  const [said] = listAt(ended, 'status', 'conditions').filter((one) => textAt(one, 'type') === 'OutputsCollected');
  t.is(textAt(said, 'message'), 'not collected: missing of index 0: /workspace/missing does not exist');
  t.is((await jobs.attempts('ends')).length, 1);
});
