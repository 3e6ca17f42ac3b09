/** The compute contract over a Docker daemon (`ops/setup-docker.sh start`), and what only this engine promises. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { BOX_RUNTIME_DIR } from '../../src/engines/compute/docker/box-program.js';
import { openDockerEngine } from '../../src/engines/compute/docker/open.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { computeContract } from './compute-contract.js';
import { Harness, order, ORG_LOG_BYTES } from './compute-harness.js';
import type { Surroundings } from './contract/case.js';
import { networkCases } from './contract/network.js';
import { isListed, sleeperOf } from '../support/proc.js';
import { turns } from '../support/turns.js';

/** As DOCKER_HOST; the daemon has the image `troupe-test/tools:1`. */
const host = process.env['DOCKER_TEST_HOST'];
/** At once: the daemon shares the machine with all other tests. */
const AT_ONCE = 4;

/** A process in which nothing is left ends within this, and one that waits for an answer of a box does not. */
const ENDS_MS = 10_000;

const turn = turns(AT_ONCE);

if (host === undefined) {
  test.skip('docker (needs a daemon at DOCKER_TEST_HOST: ops/setup-docker.sh start)', (t) => t.pass());
} else {
  const base = mkdtempSync(join(tmpdir(), 'troupe-docker-'));
  const cluster = `test-${process.pid}-${Date.now()}`;
  const open = (leaseEpoch = 1, dir = 'docker'): Promise<ComputeEngine> =>
    openDockerEngine({
      dir: join(base, dir),
      clusterId: cluster,
      leaseEpoch,
      host,
      images: { 'svc/agent-tools': 'troupe-test/tools:1' },
      egressAllow: ['127.0.0.1/32'],
      diskSeconds: 0.2,
      orgLogBytes: ORG_LOG_BYTES,
    });
  let opened: Promise<{ readonly harness: Harness; readonly around: Surroundings }> | undefined;
  test.before(() => {
    opened = (async () => {
      const engine = await open();
      const facts = await engine.facts(AbortSignal.timeout(10_000));
      const around: Surroundings = {
        facts,
        hidden: [base, process.cwd()],
        shown: ['/sys'],
        filters: false,
        boundsTerminals: false,
        ownUsers: false,
        files: mkdtempSync(join(base, 'files-')),
        userOf: sleeperOf,
        isListed,
        share: () => undefined,
      };
      return { harness: await Harness.over(engine), around };
    })();
  });
  test.after.always(async () => {
    const { harness } = await (opened as NonNullable<typeof opened>);
    try {
      const left = await harness.engine.list(harness.patience());
      await Promise.all(left.map(({ id }) => harness.engine.remove(id, true, harness.patience())));
    } finally {
      // Else what has failed would keep all others waiting for this file.
      await harness.close();
      await rm(base, { recursive: true, force: true });
    }
  });
  for (const { name, needs, ownSystem, ownCommands, ownFilter, run } of computeContract) {
    // An image is the work's own copy of a system, to change as it likes.
    if (ownSystem === true || ownCommands === true || ownFilter === true) continue;
    // Egress is tested from outside, with a service (test/sandboxes/docker.test.ts).
    if (networkCases.some((one) => one.name === name)) continue;
    test(`docker: ${name}`, async (t) => {
      t.timeout(300_000);
      const { harness, around } = await (opened as NonNullable<typeof opened>);
      t.is(around.facts.refusal, undefined);
      const missing = (needs ?? []).filter((limit) => !around.facts.enforced[limit]);
      if (missing.length > 0) {
        t.log(`not enforced here: ${missing.join(', ')}`);
        t.pass();
        return;
      }
      await turn(() => run(t, harness, around));
    });
  }
}

if (host !== undefined) {
  test('docker: a later service takes the boxes over, and an earlier one is refused', async (t) => {
    t.timeout(120_000);
    const base = mkdtempSync(join(tmpdir(), 'troupe-docker-'));
    const clusterId = `fence-${process.pid}-${Date.now()}`;
    const open = (leaseEpoch: number): Promise<ComputeEngine> =>
      openDockerEngine({
        dir: base,
        clusterId,
        leaseEpoch,
        host,
        images: { 'svc/agent-tools': 'troupe-test/tools:1' },
      });
    const h = await Harness.over(await open(1));
    const work = order('echo early; while [ ! -e /workspace/on ]; do sleep 0.05; done; echo late; sleep 600', {
      enterable: true,
    });
    await h.running(work);
    const old = h.engine;
    const successor = await Harness.over(await open(2));
    const [found] = await successor.engine.list(h.patience());
    t.like(found, { id: work.id, phase: 'Running' });
    await successor.start({ ...work });
    t.deepEqual((await successor.ran(work.id, 'echo >/workspace/on')).end, {
      end: 'Exited',
      exitCode: 0,
      timedOut: false,
    });
    await t.throwsAsync(old.stop(work.id, 0, h.patience()), { name: 'EngineRefusal', message: /epoch/ });
    const said: string[] = [];
    for await (const { data } of successor.engine.logs(work.id, { container: 'main', follow: true }, h.patience())) {
      said.push(Buffer.from(data).toString());
      if (said.length === 2) break;
    }
    t.deepEqual(said, ['early\n', 'late\n']);
    // What every box runs by is not written again, under the eyes of those that begin.
    const files = async (): Promise<string> =>
      (await successor.ran(work.id, `stat -c '%i %Z' ${BOX_RUNTIME_DIR}/box.pl`)).stdout;
    const before = await files();
    const first = order('exit 3');
    t.like(await successor.run(first), { phase: 'Exited', exitCode: 3 });
    t.is(await files(), before);
    await successor.engine.remove(first.id, true, h.patience());
    await h.close();
    await successor.engine.remove(work.id, true, h.patience());
    t.deepEqual(await successor.engine.list(h.patience()), []);
    await successor.close();
    await rm(base, { recursive: true, force: true });
  });
}

if (host !== undefined) {
  test('docker: a process that closes its engine ends by itself, whatever was under way', async (t) => {
    t.timeout(120_000);
    const base = mkdtempSync(join(tmpdir(), 'troupe-docker-'));
    const clusterId = `closing-${process.pid}-${Date.now()}`;
    const program = fileURLToPath(new URL('closing-engine.js', import.meta.url));
    const child = spawn(process.execPath, [program, base, clusterId], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => child.kill('SIGKILL'));
    const ended = once(child, 'close');
    t.is(String((await once(child.stdout, 'data'))[0]), 'closed\n');
    const late = setTimeout(() => child.kill('SIGKILL'), ENDS_MS);
    t.deepEqual(await ended, [0, null]);
    clearTimeout(late);
    const images = { 'svc/agent-tools': 'troupe-test/tools:1' };
    const successor = await openDockerEngine({ dir: base, clusterId, leaseEpoch: 2, host, images });
    const signal = AbortSignal.timeout(60_000);
    for (const { id } of await successor.list(signal)) await successor.remove(id, true, signal);
    await successor.close();
    await rm(base, { recursive: true, force: true });
  });
}
