/** Several processes in one piece of work: init before, sidecars around, main between. */
import type { OrderedProcess } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { order } from '../compute-harness.js';

function part(name: string, script: string, env: Record<string, string> = {}): OrderedProcess {
  return { name, command: ['sh', '-c', script], env: { PATH: '/usr/bin:/bin', ...env } };
}

export const sidecarCases: readonly ContractCase[] = [
  {
    name: 'init runs first, to its end, in the same place as main',
    run: async (t, h) => {
      const work = order('cat /workspace/made /tmp/made', {
        init: part('init', 'sleep 0.2; echo hello; echo 1 >/workspace/made; echo 2 >/tmp/made'),
      });
      t.is(await h.output(work), '1\n2\n');
      t.is(await h.text(work.id, 'init'), 'hello\n');
    },
  },
  {
    name: 'when init fails main does not run',
    run: async (t, h) => {
      const work = order('echo ran', { init: part('init', 'echo broken >&2; exit 4') });
      t.like(await h.run(work), { phase: 'StartFailed', reason: 'InitFailed', exitCode: 4 });
      t.is(await h.text(work.id), '');
      t.is(await h.text(work.id, 'init'), 'broken\n');
    },
  },
  {
    name: 'init that does not exist, or takes too long, fails the start',
    run: async (t, h) => {
      const none = order('echo ran', { init: { ...part('init', ''), command: ['no-such-program'] } });
      t.like(await h.run(none), { phase: 'StartFailed', reason: 'CommandNotFound' });
      const slow = order('echo ran', { init: { ...part('init', 'sleep 60'), timeoutSeconds: 1 } });
      t.like(await h.run(slow), { phase: 'StartFailed', reason: 'InitFailed' });
      t.is(await h.text(slow.id), '');
    },
  },
  {
    name: 'sidecars run before main and are stopped after it, gently',
    run: async (t, h) => {
      const script = 'trap "echo stopped; exit 0" TERM; echo $SIDE; : >/workspace/up; while :; do sleep 0.05; done';
      const work = order('while [ ! -e /workspace/up ]; do sleep 0.05; done; echo main; env | grep SIDE; exit 5', {
        sidecars: [part('proxy', script, { SIDE: 'of proxy' }), part('quick', 'exit 0')],
      });
      t.like(await h.run(work), { phase: 'Exited', exitCode: 5 });
      t.is(await h.text(work.id), 'main\n');
      const said = await h.text(work.id, 'proxy');
      t.true(said.startsWith('of proxy\n') && said.includes('stopped\n'), said);
    },
  },
  {
    name: 'a sidecar that ignores SIGTERM does not keep the work',
    run: async (t, h) => {
      const work = order('sleep 0.2; exit 6', {
        sidecars: [part('stubborn', 'trap "" TERM; while :; do sleep 1; done')],
      });
      t.like(await h.run(work), { phase: 'Exited', exitCode: 6 });
    },
  },
  {
    name: 'all processes of one piece of work share namespaces, and none has capabilities or other namespaces',
    run: async (t, h) => {
      const look =
        'exec 2>&1; for n in pid net ipc uts user; do readlink /proc/self/ns/$n; done; grep CapEff /proc/self/status; unshare -U true && echo nested; readlink /proc/$$/fd/3; true';
      const work = order(look, { init: part('init', look) });
      const main = await h.output(work);
      t.is(main, await h.text(work.id, 'init'));
      t.true(main.includes('CapEff:\t0000000000000000'));
      t.false(main.includes('nested'));
      t.is(
        main
          .trim()
          .split('\n')
          .filter((line) => !line.startsWith('unshare')).length,
        6,
      );
    },
  },
  {
    name: 'the exit code of main is exact among sidecars, signals and missing programs included',
    run: async (t, h) => {
      const sidecars = [part('idle', 'sleep 600')];
      t.like(await h.run(order('kill -KILL $$', { sidecars })), { phase: 'Exited', exitCode: 137 });
      t.like(await h.run(order(['no-such-program'], { sidecars })), {
        phase: 'StartFailed',
        reason: 'CommandNotFound',
      });
      const stopped = order('trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done', { sidecars });
      await h.start(stopped);
      for await (const _ of h.engine.logs(stopped.id, { container: 'main', follow: true }, h.patience())) break;
      await h.engine.stop(stopped.id, 30, h.patience());
      t.like(await h.ended(stopped.id), { phase: 'Exited', exitCode: 9 });
    },
  },
];
