/** What bounds work: memory, processor, processes, disk. */
import type { ContractCase } from './case.js';
import { LIMITS, MiB, order } from '../compute-harness.js';

export const limitCases: readonly ContractCase[] = [
  {
    name: 'work that takes more memory than it may ends with 137, and the report says why',
    needs: ['memory'],
    run: async (t, h) => {
      const limits = { ...LIMITS, memory: 64 * MiB };
      const state = await h.run(order(['tail', '/dev/zero'], { limits }));
      t.like(state, { phase: 'Exited', exitCode: 137, outOfMemory: true });
      t.is((await h.run(order(['true'], { limits }))).outOfMemory, undefined);
    },
  },
  {
    name: 'files in memory count as memory',
    needs: ['memory'],
    run: async (t, h) => {
      const limits = { ...LIMITS, memory: 64 * MiB };
      const state = await h.run(order('head -c 200M /dev/zero >/tmp/big; exit 1', { limits }));
      t.not(state.exitCode, 0);
    },
  },
  {
    name: 'a fork bomb stops at the number of processes, and others go on',
    needs: ['pids'],
    run: async (t, h) => {
      const limits = { ...LIMITS, pids: 16 };
      const counter = order('i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); echo $i; done; wait', { limits });
      const state = await h.run(counter);
      t.is(state.phase, 'Exited');
      t.not(state.exitCode, 0);
      const forked = (await h.lines(counter.id)).filter(({ stream }) => stream === 'stdout').length;
      t.true(forked >= 8 && forked <= 20, `${forked} processes`);
      const bomb = order(['bash', '-c', ':(){ :|:& };:; sleep 60'], { limits });
      await h.start(bomb);
      t.is((await h.run(order(['true']))).exitCode, 0);
      await h.engine.remove(bomb.id, true, h.patience());
    },
  },
  {
    name: 'processor time is shared by the limit',
    needs: ['cpu'],
    run: async (t, h) => {
      const limits = { ...LIMITS, milliCpu: 200 };
      const work = order(
        's=$(date +%s%N); while [ $(($(date +%s%N) - s)) -lt 2000000000 ]; do :; done; cat /proc/self/schedstat >/dev/null; times',
        { limits },
      );
      const text = await h.output(work);
      // The last line of `times` is what the children took; the shell itself is in the first.
      const seconds = [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
        (sum, match) => sum + Number(match[1]) * 60 + Number(match[2]),
        0,
      );
      t.true(seconds < 1, `took ${seconds} s of processor in 2 s at a fifth of one`);
    },
  },
  {
    name: 'work that fills its disk is ended with a reason',
    needs: ['disk'],
    run: async (t, h) => {
      const limits = { ...LIMITS, disk: 20 * MiB };
      for (const directory of ['/workspace', '/data']) {
        const script = `mkdir -p ${directory}; head -c 60M /dev/zero >${directory}/big; sync; sleep 60`;
        const state = await h.run(order(script, { limits }));
        t.like(state, { phase: 'Exited', reason: 'DiskFull', exitCode: 137 }, directory);
      }
    },
  },
  {
    name: 'work that makes more files than its disk is good for is ended with a reason, though they hold nothing',
    needs: ['disk'],
    run: async (t, h) => {
      const limits = { ...LIMITS, disk: 64 * MiB };
      // Without a process per file, wherever there is Perl.
      const script = `perl -e 'for my $d (1 .. 40) { mkdir $d; for (1 .. 300) { open my $f, ">", "$d/$_" } }' || {
          d=0; while [ $d -lt 40 ]; do mkdir $d; i=0; while [ $i -lt 300 ]; do : >$d/$i; i=$((i+1)); done; d=$((d+1)); done; }; sleep 600`;
      const state = await h.run(order(script, { limits }));
      t.like(state, { phase: 'Exited', reason: 'DiskFull', exitCode: 137 });
      t.regex(state.message ?? '', /are \d{5}, more than the 10000/);
    },
  },
];
