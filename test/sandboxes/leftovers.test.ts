/**
 * What many Sandboxes leave on the machine once they are deleted: nothing. Counted at the processes and in the kernel's own files.
 * `SANDBOX_CYCLES` (24, in CI 60) prolongs a run.
 */
import { join } from 'node:path';
import test from 'ava';
import { objectOf } from '../e2e/client.js';
import { steady, until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { amount } from '../support/extent.js';
import { descendants, entries, link, text } from '../support/proc.js';
import { openSandboxes, SANDBOXES, type Sandboxes } from './sandboxes.js';

const CYCLES = amount('SANDBOX_CYCLES', 24, 60);
const AT_ONCE = 8;
const SPARES = 8;
/** More at once than boxes are kept ready: from then on as many are kept as may be. */
const CROWD = 24;
const PATIENCE_MS = 90_000;
/** Longer than a box takes to be made on a busy machine, ms. */
const REST_MS = 2_000;

/** The same lines again once all Sandboxes are gone and the boxes that are kept ready are there. */
function census(runner: number): string {
  const id = /"runnerId":"([0-9a-f]+)"/.exec(text(`/proc/${runner}/cmdline`))?.[1] ?? 'none';
  const group = `troupe-${id}`;
  const groups = entries('/sys/fs/cgroup').flatMap((tree) => entries(join('/sys/fs/cgroup', tree, group)));
  const unified = entries(join('/sys/fs/cgroup', group));
  const below = descendants(runner);
  const links = (pid: number, kind: 'fd' | 'ns'): string[] =>
    entries(`/proc/${pid}/${kind}`).map((name) => link(`/proc/${pid}/${kind}/${name}`));
  const descriptors = links(runner, 'fd').map((target) => target.replace(/:\[\d+\]$|\d+$/, ''));
  return [
    `processes ${below.length}`,
    `of work ${[...groups, ...unified].filter((name) => /\.\d+$/.test(name)).length}`,
    `groups ${groups.length + unified.length}`,
    `namespaces ${new Set(below.flatMap((pid) => links(pid, 'ns'))).size}`,
    `mounts ${text('/proc/mounts').split(id).length - 1}`,
    `sockets ${descriptors.filter((kind) => kind === 'socket').length}`,
    `pipes ${descriptors.filter((kind) => kind.startsWith('pipe')).length}`,
  ].join(', ');
}

async function cycle(boxes: Sandboxes, name: string): Promise<void> {
  const box = objectOf('Sandbox', name, { image: 'svc/agent-tools', resources: SMALL });
  const made = await boxes.client().post(SANDBOXES, box);
  if (made.status !== 201) throw new Error(made.text);
  const command = ['sh', '-c', 'mkfifo pipe; setsid sleep 600 & echo left >/tmp/file'];
  const ran = await boxes.client().post(`${SANDBOXES}/${name}/exec?wait=60s`, { command });
  if (ran.status !== 200) throw new Error(ran.text);
  await boxes.client().remove(`${SANDBOXES}/${name}`);
  await until(`${name} is gone`, async () => (await boxes.client().get(`${SANDBOXES}/${name}`)).status === 404);
}

test(`after ${CYCLES} Sandboxes were made, used and deleted the machine is as it was`, async (t) => {
  t.timeout(300_000);
  const boxes = await openSandboxes(t, {
    env: {
      TROUPE_NODE_CPU: '100',
      TROUPE_NODE_MEMORY: '100Gi',
      TROUPE_NODE_DISK: '1Ti',
      TROUPE_SPARE_BOXES: String(SPARES),
    },
  });
  await Promise.all(Array.from({ length: CROWD }, (_, n) => cycle(boxes, `crowd-${n}`)));
  const runner = await boxes.runner();
  // Boxes are made ready in the background, one by one.
  const before = await steady('nothing changes any more', () => census(runner), REST_MS);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < CYCLES) await cycle(boxes, `one-${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  t.true(before.includes('of work 0'), before);
  let after = '';
  await until('it is as it was', () => (after = census(runner)) === before, PATIENCE_MS).catch(() => undefined);
  t.is(after, before);
});
