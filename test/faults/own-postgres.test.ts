/**
 * The service's own Postgres stopped, killed, and on a disk that is full: the service says so, refuses what it cannot take, and
 * goes on by itself when the cause is gone.
 */
import test from 'ava';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPidFile } from '../../src/app/postgres/pid-file.js';
import { processEnd } from '../../src/process-start.js';
import { objectOf, path, textAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const COLLECTION = path('serviceaccounts', 'default');
const MIB = 2 ** 20;
/** What a fresh cluster takes, twice: its log of writes grows. */
const DISK_MIB = 320;
const RESERVE_MIB = 64;
/** Longer than every bound of the service on one statement. */
const RECOVER_MS = 90_000;

const disk = mkdtempSync(join(tmpdir(), 'troupe-faults-disk-'));
const mounted =
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m,mode=0700`, 'troupe-test', disk]).status === 0;
test.after.always(() => {
  if (mounted) execFileSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true, force: true });
});
const onSmallDisk = mounted ? test.serial : test.serial.skip;

async function readiness({ url }: Running): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(5_000) });
  return { status: response.status, text: await response.text() };
}

const saysNoAnswer = (service: Running): Promise<true> =>
  until(
    '/readyz says that Postgres does not answer',
    async () => {
      const { status, text } = await readiness(service);
      return status === 503 && text.includes('Postgres does not answer');
    },
    RECOVER_MS,
  );

const postmaster = async (service: Running): Promise<number> =>
  (await readPidFile(join(service.dataDir, 'postgres', 'cluster')))?.pid ?? 0;

/** Leaves this much of the disk free. */
async function fill(freeMib: number): Promise<void> {
  const file = await open(join(disk, 'ballast'), 'a');
  const block = Buffer.alloc(MIB / 4, 1);
  try {
    for (;;) {
      const { bavail, bsize } = await statfs(disk);
      if (bavail * bsize <= freeMib * MIB) return;
      await file.write(block);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    await file.close();
  }
}

onSmallDisk(
  'Postgres stopped, killed, and on a full disk is told at /readyz, and the service goes on by itself',
  async (t) => {
    t.timeout(300_000);
    const env = { TROUPE_COMPUTE: 'off', TROUPE_DISK_RESERVE: `${RESERVE_MIB}Mi`, TROUPE_LEASE_SECONDS: '2' };
    const service = await startRunning(t, { databaseUrl: 'embedded', dataDir: disk, env });
    const pid = service.pid();
    const client = service.client();
    const create = (name: string) => client.post(COLLECTION, objectOf('ServiceAccount', name, {}));
    const patch = (description: string) => client.merge(`${COLLECTION}/kept`, { spec: { description } });
    t.is((await create('kept')).status, 201);

    // All of its processes are stopped: nothing is refused, and nothing answers.
    const stopped = [...processesOn(join(disk, 'postgres')).keys()];
    t.true(stopped.includes(await postmaster(service)));
    for (const each of stopped) process.kill(each, 'SIGSTOP');
    const asked = patch('while it is stopped').catch(() => undefined);
    await saysNoAnswer(service);
    for (const each of stopped) process.kill(each, 'SIGCONT');
    const ended = await asked;
    t.true(ended === undefined || ended.status === 200 || ended.status === 503, ended?.text);
    await until('writes go on', async () => (await patch('after the stop')).status === 200, RECOVER_MS);

    // Nearly full: what is new is refused before Postgres is stopped by it.
    await fill(RESERVE_MIB / 2);
    const short = await until('new objects are refused', async () => {
      const answer = await create(`new-${Date.now()}`);
      return answer.status === 503 ? answer : undefined;
    });
    t.is(textAt(short.body, 'reason'), 'AdmissionsPaused');
    t.regex(textAt(short.body, 'message'), /MiB are free/);
    t.truthy(short.headers.get('retry-after'));
    t.is((await patch('while the disk is short')).status, 200);
    t.is((await readiness(service)).status, 200);

    // Full, and a server that ends cannot start again.
    await fill(0);
    const killed = await postmaster(service);
    process.kill(killed, 'SIGKILL');
    await processEnd(killed, AbortSignal.timeout(20_000));
    await fill(0);
    await saysNoAnswer(service);
    await rm(join(disk, 'ballast'));
    await until('new objects are taken again', async () => (await create('later')).status === 201, RECOVER_MS);
    t.is(textAt((await client.get(`${COLLECTION}/kept`)).body, 'spec', 'description'), 'while the disk is short');
    t.is((await readiness(service)).status, 200);
    t.not(await postmaster(service), killed);
    t.is(service.pid(), pid, 'the process is the same');
    t.true(service.alive());
  },
);
