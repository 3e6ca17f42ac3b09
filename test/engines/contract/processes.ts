/** Detached processes: nobody waits for them, and they are there to be asked about. */
import type { ProcessOrder } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { box, MiB, order } from '../compute-harness.js';

function detached(work: string, id: string, script: string, more: Partial<ProcessOrder> = {}): ProcessOrder {
  const env = { PATH: '/usr/bin:/bin' };
  return { work, id, command: ['sh', '-c', script], env, workingDir: '/workspace', ...more };
}

export const processCases: readonly ContractCase[] = [
  {
    name: 'processes: one goes on by itself, is listed and counted, reads its input, and leaves its output and exit code',
    run: async (t, h) => {
      const work = await h.running(box());
      const p = h.patience();
      const wanted = detached(work.id, 'reader', 'echo begun; cat; echo "end $A" >&2; exit 5', {
        env: { PATH: '/usr/bin:/bin', A: 'b' },
      });
      const start = await h.engine.startProcess(wanted, p);
      t.like(start, { outcome: 'Started', process: { id: 'reader', command: wanted.command, ended: undefined } });
      await h.state(work.id, ({ processes }) => processes === 1);
      // A second start changes nothing.
      t.deepEqual(await h.engine.startProcess({ ...wanted, command: ['false'] }, p), start);
      t.deepEqual(await h.engine.processes(work.id, p), start.outcome === 'Started' ? [start.process] : []);
      const write = (text: string, end = false): Promise<string> =>
        h.engine.writeProcess(work.id, 'reader', { data: Buffer.from(text), end }, p);
      t.is(await write('one\n'), 'Taken');
      t.is(await write('two\n', true), 'Taken');
      await h.state(work.id, ({ processes, sequence }) => processes === 0 && sequence > 2);
      t.like((await h.engine.processes(work.id, p))?.[0], { id: 'reader', ended: { exitCode: 5, timedOut: false } });
      t.is(await write('late'), 'Gone');
      t.is(await h.engine.signalProcess(work.id, 'reader', 'SIGTERM', p), 'Gone');
      const lines = await h.lines(work.id, { container: 'process-reader' });
      // Only within a stream is there an order: they are two pipes.
      const said = (of: string): string =>
        lines.flatMap(({ stream, data }) => (stream === of ? [Buffer.from(data).toString()] : [])).join('');
      t.deepEqual([said('stdout'), said('stderr'), lines.length], ['begun\none\ntwo\n', 'end b\n', 4]);
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'processes: one that does not read is full, a signal and its time end one, and its log can be followed',
    run: async (t, h) => {
      const work = await h.running(box());
      const p = h.patience();
      await h.engine.startProcess(
        detached(
          work.id,
          'deaf',
          'exec 2>/dev/null; trap "echo bye; exit 6" TERM; echo up; while :; do sleep 0.05; done',
        ),
        p,
      );
      let taken = 0;
      for (let full = false; !full;) {
        full =
          (await h.engine.writeProcess(work.id, 'deaf', { data: Buffer.alloc(256 * 1024), end: false }, p)) === 'Full';
        if (!full) taken++;
        if (taken > 64) break;
      }
      t.true(taken > 0 && taken <= 16, `${taken} times 256 KiB`);
      const follow = h.engine.logs(work.id, { container: 'process-deaf', follow: true }, p);
      const said: string[] = [];
      for await (const { data } of follow) {
        said.push(Buffer.from(data).toString());
        if (said.length === 1) t.is(await h.engine.signalProcess(work.id, 'deaf', 'SIGTERM', p), 'Sent');
      }
      t.deepEqual(said, ['up\n', 'bye\n']);
      await h.engine.startProcess(detached(work.id, 'late', 'sleep 600', { timeoutSeconds: 1 }), p);
      // The state of the work tells of both ends.
      await h.state(work.id, ({ processes }) => processes === 0);
      const late = async (): Promise<boolean> =>
        (await h.engine.processes(work.id, p))?.some(({ id, ended }) => id === 'late' && ended?.timedOut === true) ===
        true;
      while (!(await late())) await new Promise((done) => setTimeout(done, 50));
      t.is((await h.engine.processes(work.id, p))?.find(({ id }) => id === 'deaf')?.ended?.exitCode, 6);
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'processes: what cannot be executed is said to be, work that does not run has none, and there is an end to their number',
    run: async (t, h) => {
      const work = await h.running(box({ limits: { ...box().limits, pids: 200, memory: 512 * MiB } }));
      const p = h.patience();
      const none = await h.engine.startProcess({ ...detached(work.id, 'none', ''), command: ['no-such-program'] }, p);
      t.like(none, { outcome: 'NotExecuted', reason: 'CommandNotFound' });
      t.deepEqual(await h.engine.processes(work.id, p), []);
      await t.throwsAsync(h.engine.startProcess(detached(work.id, '../x', 'true'), p), { message: /bad id/ });
      const ids = Array.from({ length: 65 }, (_, index) => `p${index}`);
      const starts = await Promise.allSettled(
        ids.map((id) => h.engine.startProcess(detached(work.id, id, 'exec sleep 600'), p)),
      );
      t.is(starts.filter(({ status }) => status === 'fulfilled').length, 64);
      await h.state(work.id, ({ processes }) => processes === 64);
      await h.engine.stop(work.id, 0, h.patience());
      t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 0, processes: undefined });
      t.is(await h.engine.processes(work.id, p), undefined);
      t.deepEqual(await h.engine.startProcess(detached(work.id, 'x', 'true'), p), { outcome: 'NotRunning' });
      t.is(await h.engine.writeProcess(work.id, 'p1', { data: Buffer.from('x'), end: false }, p), 'Gone');
      const closed = await h.running(order('sleep 600'));
      await t.throwsAsync(h.engine.startProcess(detached(closed.id, 'x', 'true'), p), { message: /not ordered/ });
      await h.engine.remove(closed.id, true, h.patience());
    },
  },
];
