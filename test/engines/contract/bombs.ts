/**
 * Resource exhaustion from inside a box: whatever it is, a neighbour's commands go on as if nothing were, and the box itself is there
 * again once the bomb is gone. How quick the neighbour stays is measured elsewhere (`ops/bench/parts/hostile.ts`).
 */
import type { ExecutionContext } from 'ava';
import type { WorkSpec } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { LIMITS, MiB, order, type Harness } from '../compute-harness.js';

interface Bomb {
  readonly name: string;
  readonly needs: NonNullable<ContractCase['needs']>;
  /** Prints a line once it is under way, and goes on until it is killed. */
  readonly script: string;
  readonly limits?: Partial<WorkSpec['limits']>;
  /** The box is ended for it. */
  readonly ends?: boolean;
  readonly also?: (t: ExecutionContext, h: Harness, work: string, said: string) => Promise<void>;
}

const bombs: readonly Bomb[] = [
  {
    name: 'a fork bomb',
    needs: ['pids'],
    script: 'echo going; f() { f | f & }; f 2>/dev/null; sleep 600',
    limits: { pids: 32 },
  },
  {
    name: 'memory that is taken again and again',
    needs: ['memory'],
    script: 'echo going; while :; do tail /dev/zero; done',
    limits: { memory: 64 * MiB },
  },
  {
    name: 'files in memory that fill /tmp',
    needs: ['memory'],
    // Less than the disk limit, for where /tmp is on a disk.
    script: 'while :; do echo going; head -c 256M /dev/zero >/tmp/f; done',
    limits: { memory: 64 * MiB },
    also: async (t, h, work) => {
      t.is((await h.ran(work, 'rm -rf /tmp/*; echo again >/tmp/f; cat /tmp/f')).stdout, 'again\n');
    },
  },
  {
    name: 'a workspace without end',
    needs: ['disk'],
    script: 'echo going; while :; do head -c 8M /dev/zero >>/workspace/big; done; sleep 600',
    limits: { disk: 24 * MiB },
    ends: true,
  },
  {
    name: 'output that nobody reads',
    needs: [],
    script: 'exec yes going',
  },
  {
    name: 'processes that end and are not waited for',
    needs: ['pids'],
    // Orphans, which the first process has to see to; then zombies whose parent does not look.
    script:
      'i=0; while [ $i -lt 300 ]; do (true &) ; i=$((i+1)); done; echo going; for i in 1 2 3 4 5 6 7 8; do true & done; exec sleep 600',
    limits: { pids: 32 },
    also: async (t, h, work) => {
      const zombies = 'for p in /proc/[0-9]*/status; do grep -q "^State:.Z" $p && echo $p; done 2>/dev/null';
      const left = async (): Promise<boolean> => (await h.ran(work, zombies)).stdout !== '';
      const deadline = Date.now() + 10_000;
      while ((await left()) && Date.now() < deadline);
      t.false(await left());
    },
  },
  {
    name: 'files that are opened and kept',
    needs: [],
    script:
      'command -v perl >/dev/null || { echo going; exec sleep 600; }; exec perl -e \'$| = 1; my @f; while (open my $f, "<", "/dev/null") { push @f, $f } print scalar @f, "\\n"; sleep 600\'',
    also: async (t, _h, _work, said) => {
      t.true(said.startsWith('going') || Number.parseInt(said, 10) < 65_536, said);
    },
  },
  {
    name: 'a processor that is never given up',
    needs: ['cpu'],
    script: 'for i in 1 2 3 4; do while :; do :; done & done; echo going; wait',
    limits: { milliCpu: 2000 },
  },
];

export const bombCases: readonly ContractCase[] = bombs.map(({ name, needs, script, limits, ends, also }) => ({
  name: `hostile: ${name} disturbs no neighbour${ends === true ? ', and ends its own box' : ' and not the box itself when it is over'}`,
  needs,
  run: async (t, h) => {
    const { main: _, ...idle } = order('true');
    const attacker = await h.running({ ...idle, limits: { ...LIMITS, ...limits } });
    const { main: __, ...beside } = order('true');
    const neighbour = await h.running(beside);
    const over = new AbortController();
    const asked = {
      work: attacker.id,
      command: ['sh', '-c', script],
      env: { PATH: '/usr/bin:/bin' },
      workingDir: '/workspace',
    };
    const started = await h.engine.exec(asked, over.signal);
    if (started.outcome !== 'Started') throw new Error(started.outcome);
    const { execution } = started;
    const output = execution.output[Symbol.asyncIterator]();
    const first = await output.next();
    const said = first.done === true ? '' : Buffer.from(first.value.data).toString('latin1');
    t.not(said, '');
    const lines = Array.from({ length: 5 }, (_line, index) => `${index}\n`);
    for (const [index] of lines.entries()) {
      const ran = await h.ran(neighbour.id, `echo ${index} >>all; cat all; (: & wait); head -c 1M /dev/zero >/tmp/f`);
      t.deepEqual(ran, {
        stdout: lines.slice(0, index + 1).join(''),
        stderr: '',
        end: { end: 'Exited', exitCode: 0, timedOut: false },
      });
    }
    if (ends === true) {
      t.like(await h.ended(attacker.id), { phase: 'Exited', reason: 'DiskFull' });
    } else {
      over.abort();
      await output.return?.();
      await execution.ended;
      // A bomb takes a moment to die.
      const deadline = Date.now() + 20_000;
      let alive = await h.ran(attacker.id, 'echo alive');
      while (alive.stdout === '' && Date.now() < deadline) alive = await h.ran(attacker.id, 'echo alive');
      t.is(alive.stdout, 'alive\n', JSON.stringify(alive));
      await also?.(t, h, attacker.id, said);
    }
    await Promise.all([attacker, neighbour].map(({ id }) => h.engine.remove(id, true, h.patience())));
  },
}));
