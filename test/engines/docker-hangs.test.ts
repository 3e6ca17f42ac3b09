/** A daemon that takes what it is asked and answers nothing: neither callers nor the end of the service wait for it. */
import { once, setMaxListeners } from 'node:events';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openDockerEngine } from '../../src/engines/compute/docker/open.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { until } from '../e2e/until.js';
import { Harness, order } from './compute-harness.js';

const host = process.env['DOCKER_TEST_HOST'];

interface Between {
  readonly host: string;
  /** From now on nothing passes, and nothing is closed. */
  hang(): void;
}

/** Stands before the daemon. */
async function openBetween(t: ExecutionContext, dir: string, daemon: string): Promise<Between> {
  const joined = new Set<Socket>();
  let hangs = false;
  const server = createServer((near) => {
    joined.add(near.on('error', () => undefined));
    if (hangs) return;
    const far = connect(daemon.replace('unix://', ''));
    joined.add(far.on('error', () => undefined));
    near.pipe(far).pipe(near);
  });
  const path = join(dir, 'socket');
  await once(server.listen(path), 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of joined) socket.destroy();
  });
  return {
    host: `unix://${path}`,
    hang() {
      hangs = true;
      for (const socket of joined) socket.unpipe().pause();
    },
  };
}

if (host === undefined) {
  test.skip('docker-hangs (needs a daemon at DOCKER_TEST_HOST: ops/setup-docker.sh start)', (t) => t.pass());
} else {
  test('with a daemon that hangs every call ends with its signal, and the engine closes', async (t) => {
    t.timeout(120_000);
    const dir = mkdtempSync(join(tmpdir(), 'troupe-hangs-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    const clusterId = `hangs-${process.pid}-${Date.now()}`;
    const images = { 'svc/agent-tools': 'troupe-test/tools:1' };
    const open = (at: string, leaseEpoch: number): Promise<ComputeEngine> =>
      openDockerEngine({ dir, clusterId, leaseEpoch, host: at, images });

    const between = await openBetween(t, dir, host);
    const h = await Harness.over(await open(between.host, 1));
    const work = order('echo up; exec sleep 600', { enterable: true });
    await h.running(work);
    const goesOn = await h.exec(work.id, 'exec sleep 600');
    between.hang();
    const { engine } = h;
    const command = { work: work.id, command: ['true'], env: {}, workingDir: '/' };
    const calls: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => engine.facts(signal),
      (signal) => engine.start(order('true'), signal),
      (signal) => engine.exec(command, signal),
      (signal) => engine.startProcess({ ...command, id: 'p1' }, signal),
      (signal) => engine.connect(work.id, 80, signal),
      (signal) => engine.stop(work.id, 0, signal),
      (signal) => engine.remove(work.id, true, signal),
    ];
    const gone = new AbortController();
    setMaxListeners(0, gone.signal);
    const asked = calls.map((call) =>
      t.throwsAsync(call(gone.signal), { message: 'nobody waits any more' }, String(call)),
    );
    setTimeout(() => gone.abort(new Error('nobody waits any more')), 300);
    await Promise.all(asked);
    const late = sleep(30_000, 'late', { ref: false });
    t.not(await Promise.race([h.close(), late]), 'late');
    t.deepEqual(await goesOn.ended, { end: 'WorkGone' });

    const after = await Harness.over(await open(host, 2));
    for (const { id } of await after.engine.list(after.patience()))
      await after.engine.remove(id, true, after.patience());
    await after.close();
  });

  const disk = mkdtempSync(join(tmpdir(), 'troupe-docker-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0755', 'troupe-test', disk]).status === 0;
  test.after.always(() => {
    if (mounted) spawnSync('umount', ['--lazy', disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  (mounted ? test : test.skip)('work that ends on a full disk ends when its log and outputs are there', async (t) => {
    t.timeout(120_000);
    const images = { 'svc/agent-tools': 'troupe-test/tools:1' };
    const clusterId = `full-${process.pid}-${Date.now()}`;
    const h = await Harness.over(await openDockerEngine({ dir: disk, clusterId, leaseEpoch: 1, host, images }));
    t.teardown(() => h.close());
    const outputs = [
      { name: 'file', path: '/workspace/file' },
      { name: 'tree', path: '/workspace' },
      { name: 'none', path: '/workspace/none' },
    ];
    const program = 'trap "echo late; exit 11" TERM; echo content >file; echo begun; while :; do sleep 0.05; done';
    const work = await h.running(order(program, { outputs }));
    await until('the first line', async () => (await h.text(work.id)).includes('begun'));
    const ballast = join(disk, 'ballast');
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']);
    await h.engine.stop(work.id, 60, h.patience());
    const waits = await h.state(work.id, ({ saving, endedAt }) => saving?.error !== undefined || endedAt !== undefined);
    t.is(waits.endedAt, undefined, JSON.stringify(waits));
    t.is(waits.saving?.error, "the machine's disk is full");
    rmSync(ballast);
    const ended = await h.ended(work.id);
    t.is(ended.exitCode, 11);
    t.deepEqual(
      ended.outputs?.map(({ name, error }) => [name, error]),
      [
        ['file', undefined],
        ['tree', undefined],
        ['none', '/workspace/none does not exist'],
      ],
    );
    t.is(readFileSync(ended.outputs?.[0]?.file ?? '', 'utf8'), 'content\n');
    // Before or behind it the shell says what became of its last command.
    t.regex(await h.text(work.id), /^begun\n(?:Terminated\n)?late\n/);
    await h.engine.remove(work.id, true, h.patience());
  });
}
