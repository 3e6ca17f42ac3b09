/** How the machine's process ids are shared out: to all boxes together, and to each. */
import fc from 'fast-check';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import {
  LEAST_PROCESSES,
  leastOf,
  machineProcesses,
  processesOfBox,
  roomWithin,
} from '../../src/engines/compute/shared/process-share.js';
import { containerOf } from '../../src/engines/compute/docker/container.js';
import type { Kept } from '../../src/engines/compute/docker/labels.js';
import { boundAll } from '../../src/runner/limits/probe.js';
import { openV1 } from '../../src/runner/limits/v1.js';
import { openV2 } from '../../src/runner/limits/v2.js';
import { box, LIMITS, MiB, printed } from './compute-harness.js';
import { each } from './each-isolation.js';

const PIDS = 1_024;
const OWN = 4;
/** Of which a box has a part above the least. */
const memoryOf = (processes: number, memory: number): number => Math.ceil((LEAST_PROCESSES * memory) / processes);

test('boxes that fit into the machine by memory fit into its process ids, beside a reserve', (t) => {
  const machine = fc.record({
    table: fc.integer({ min: 4_096, max: 4_194_304 }),
    memory: fc.integer({ min: 256, max: 1_048_576 }).map((mebibytes) => mebibytes * MiB),
    parts: fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 1, maxLength: 600 }),
  });
  fc.assert(
    fc.property(machine, ({ table, memory, parts }) => {
      const processes = roomWithin([table, 4_194_304]) ?? 0;
      t.true(processes <= table - Math.max(table / 4, Math.min(1_024, table / 2)) && processes > table / 3);
      let left = memory;
      let taken = 0;
      for (const part of parts) {
        const countedMemory = Math.floor(left * part);
        if (countedMemory < memoryOf(processes, memory)) continue;
        left -= countedMemory;
        // What it may use is no part of the sum, since work that states none may use more than is counted.
        const limits = { ...LIMITS, pids: PIDS, memory: Math.max(countedMemory, 512 * MiB), countedMemory };
        const most = processesOfBox(limits, OWN, { processes, memory });
        t.true(most >= LEAST_PROCESSES && most <= PIDS + OWN, String(most));
        taken += most;
      }
      t.true(taken <= processes, `${taken} of ${processes}`);
    }),
  );
});

test('a box has no fewer processes than a small program needs, no more than it is ordered with, and without a known table that number', (t) => {
  const room = { processes: 24_576, memory: 24_576 * MiB };
  const of = (memory: number, pids = PIDS): number => processesOfBox({ ...LIMITS, memory, pids }, OWN, room);
  t.deepEqual(
    [1, 64, 65, 512, 1_028, 4_096].map((mebibytes) => of(mebibytes * MiB)),
    [64, 64, 65, 512, 1_028, 1_028],
  );
  t.is(of(MiB, 16), 20);
  t.is(processesOfBox({ ...LIMITS, pids: PIDS }, OWN, { ...room, processes: undefined }), 1_028);
  t.is(roomWithin([]), undefined);
  t.is(roomWithin([32_768, 192_730]), 24_576);
  t.is(roomWithin([3_000]), 1_976);
  t.is(roomWithin([1_500]), 750);
});

test('either version of control groups bounds all boxes within the groups around them, and each box to its part; so does a daemon', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'troupe-groups-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  // Such as a unit of systemd.
  const unit = join(root, 'unit');
  const base = join(unit, 'troupe');
  mkdirSync(base, { recursive: true });
  for (const path of [root, unit]) writeFileSync(join(path, 'cgroup.procs'), '');
  writeFileSync(join(root, 'pids.max'), 'max\n');
  writeFileSync(join(unit, 'pids.max'), '4800\n');
  const processes = boundAll(base);
  t.is(processes, 3_600);
  t.is(readFileSync(join(base, 'pids.max'), 'utf8'), '3600');
  const room = { processes, memory: 3_600 * MiB };
  const limits = { ...LIMITS, memory: 512 * MiB, countedMemory: 100 * MiB, pids: PIDS };
  const groups = [openV1(new Map([['pids', base]]), room), openV2(base, new Set(['pids'] as const), room)];
  for (const [version, of] of groups.entries()) {
    await of.create(`box-${version}`, limits);
    t.is(readFileSync(join(base, `box-${version}`, 'pids.max'), 'utf8'), '100');
  }
  const about = { name: 'n', cluster: 'c', epoch: 1, runtimeVolume: 'v', isPodman: false, room };
  const kept = {} as Kept;
  const limited = (pids: boolean): number | undefined =>
    containerOf(box({ limits }), { ...about, kept, enforced: { cpu: true, memory: true, pids } }).HostConfig?.PidsLimit;
  t.is(limited(true), 100);
  t.is(limited(false), undefined);
});

each(
  'processes of all boxes are bounded together, and a box that has all of its own leaves others theirs',
  async (t, fixture, h) => {
    const name = `troupe-${fixture.place.settings.runnerId}`;
    const base = ['pids', '', 'unified']
      .map((tree) => join('/sys/fs/cgroup', tree, name))
      .find((path) => existsSync(join(path, 'pids.max')));
    const facts = await h.engine.facts(h.patience());
    if (base === undefined || !facts.enforced.pids || statSync(base).uid !== fixture.setup.uid) {
      t.log('no control group bounds processes here');
      t.pass();
      return;
    }
    const maxOf = (path: string): number => Number(readFileSync(join(path, 'pids.max'), 'utf8'));
    const all = maxOf(base);
    t.true(all <= Math.min(...machineProcesses()) * 0.75, `${all}`);
    const limits = { ...LIMITS, memory: 256 * MiB, countedMemory: 32 * MiB, pids: PIDS };
    const [attacker, neighbour] = [await h.running(box({ limits })), await h.running(box({ limits }))];
    const most = maxOf(join(base, attacker.id));
    t.is(most, Math.min(PIDS + OWN, Math.max(leastOf(all), Math.floor((all * 32 * MiB) / facts.memory))));
    const bomb = '$| = 1; while (defined(my $p = fork)) { $p or exec "sleep", 600 } print "full\\n"; sleep 600';
    const taken = await h.exec(attacker.id, ['perl', '-e', bomb]);
    await printed(taken, 'full');
    t.true(Number(readFileSync(join(base, attacker.id, 'pids.current'), 'utf8')) > most / 2);
    t.is((await h.ran(neighbour.id, '(: & wait); echo fine')).stdout, 'fine\n');
    for (const { id } of [attacker, neighbour]) await h.engine.remove(id, true, h.patience());
  },
);
