/** Commands in work that runs, and work that runs nothing else. */
import { randomInt } from 'node:crypto';
import type { ExecEnd } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { box, LIMITS, MiB, order, printed, taken } from '../compute-harness.js';

const exited = (exitCode: number): ExecEnd => ({ end: 'Exited', exitCode, timedOut: false });

/** A number of seconds that no other process sleeps: by it a process is found from outside. */
const nap = (): string => `600.${randomInt(1e9)}`;

export const execCases: readonly ContractCase[] = [
  {
    name: 'exec: exit codes, both streams, the working directory and the exact environment of a command are its own',
    run: async (t, h) => {
      const secret = { PATH: '/usr/bin:/bin', TOKEN: 'of main' };
      const base = order('echo "$TOKEN" >/workspace/token; exec sleep 600', { enterable: true });
      const work = await h.running({
        ...base,
        main: { ...base.main, env: secret },
        secretFiles: new Map([['key', Buffer.from('value')]]),
      });
      t.deepEqual(await h.ran(work.id, 'echo out; echo err >&2; exit 3'), {
        stdout: 'out\n',
        stderr: 'err\n',
        end: exited(3),
      });
      t.deepEqual((await h.ran(work.id, ['true'])).end, exited(0));
      t.deepEqual((await h.ran(work.id, 'kill -TERM $$')).end, exited(143));
      t.is((await h.ran(work.id, 'pwd; echo >/dev/stdout again', { workingDir: '/tmp' })).stdout, '/tmp\nagain\n');
      const env = { PATH: '/usr/bin:/bin', A: 'b \'c\' $d "e"', LINES: 'x\ny\n', 'odd.name-1': 'kept' };
      const text = (await h.ran(work.id, ['cat', '/proc/self/environ'], { env })).stdout;
      const found = Object.fromEntries(
        text
          .split('\0')
          .filter(Boolean)
          .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
      );
      t.deepEqual({ PWD: '/workspace', ...found }, { PWD: '/workspace', ...env });
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: where the order names no PATH, programs, commands and processes have one and the same, absolute',
    run: async (t, h) => {
      const look = ['printenv', 'PATH'];
      const plain = order(look);
      const [said = ''] = (await h.output({ ...plain, main: { ...plain.main, env: {} } })).split('\n');
      t.regex(said, /^\/[^:]*(:\/[^:]*)*$/);
      t.true(
        ['/usr/bin', '/bin'].every((place) => said.split(':').includes(place)),
        said,
      );
      const { id } = await h.running(box({ enterable: true }));
      t.is((await h.ran(id, look, { env: {} })).stdout, `${said}\n`);
      t.is((await h.ran(id, look, { env: { PATH: '/usr/bin' } })).stdout, '/usr/bin\n');
      const process = { work: id, id: 'path', command: look, env: {}, workingDir: '/workspace' };
      await h.engine.startProcess(process, h.patience());
      await h.state(id, ({ processes, sequence }) => processes === 0 && sequence > 2);
      t.is(await h.text(id, 'process-path'), `${said}\n`);
      await h.engine.remove(id, true, h.patience());
    },
  },
  {
    name: 'exec: a command is where main is, and can do no more than main',
    run: async (t, h) => {
      const look =
        'id -u; for n in pid net ipc user; do readlink /proc/self/ns/$n; done; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; unshare -U true 2>/dev/null && echo nested; unshare -u true 2>/dev/null && echo apart; for n in $(ls /proc/$$/fd); do [ "$n" -gt 2 ] && readlink /proc/$$/fd/$n; done; true';
      const work = await h.running(order(`${look}; echo done >/workspace/done; exec sleep 600`, { enterable: true }));
      const command = await h.ran(work.id, `while [ ! -e /workspace/done ]; do sleep 0.02; done; ${look}`);
      await h.engine.stop(work.id, 0, h.patience());
      await h.ended(work.id);
      t.is(command.stdout, await h.text(work.id));
      t.regex(command.stdout, /CapEff:\t0{16}\nNoNewPrivs:\t1\n$/);
    },
  },
  {
    name: 'exec: a command that takes too long is killed whole; one that is signalled can say its last',
    run: async (t, h, around) => {
      const work = await h.running(box());
      const time = nap();
      const late = h.ran(work.id, `trap "" TERM; echo said; setsid sleep ${time} & sleep 600`, { timeoutSeconds: 4 });
      t.deepEqual(await late, { stdout: 'said\n', stderr: '', end: { end: 'Exited', exitCode: 137, timedOut: true } });
      // What was killed with it may be there for a moment longer.
      await h.until('its descendant is gone', () => around.userOf(time) === undefined || undefined);
      for (const [name, number] of [
        ['SIGINT', 2],
        ['SIGTERM', 15],
        ['SIGHUP', 1],
        ['SIGKILL', 9],
      ] as const) {
        const sleeper = await h.exec(work.id, 'echo ready; exec sleep 600');
        const output = await printed(sleeper, 'ready');
        sleeper.signal(name);
        // A shell around it may say how it ended; the end is told when that is taken.
        while ((await output.next()).done !== true);
        t.deepEqual(await sleeper.ended, exited(128 + number), name);
      }
      const polite = await h.exec(
        work.id,
        'exec 2>/dev/null; trap "echo bye; exit 7" TERM; echo ready; while :; do sleep 0.05; done',
      );
      const output = await printed(polite, 'ready');
      polite.signal('SIGTERM');
      t.is(Buffer.from((await output.next()).value?.data ?? []).toString(), 'bye\n');
      await output.return?.();
      t.deepEqual(await polite.ended, exited(7));
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: a command that has ended with output that nobody takes is over once its caller gives up',
    run: async (t, h) => {
      const { id } = await h.running(box());
      const gone = new AbortController();
      const unheard = { work: id, command: ['echo', 'unheard'], env: {}, workingDir: '/' };
      const start = await h.engine.exec(unheard, gone.signal);
      if (start.outcome !== 'Started') throw new Error(start.outcome);
      // By then the other one has ended as well.
      for (let n = 0; n < 5; n += 1) await h.ran(id, ['true']);
      gone.abort();
      t.is((await start.execution.ended).end === 'NotExecuted', false);
      await h.engine.remove(id, true, h.patience());
    },
  },
  {
    name: 'exec: a command ends with its first process and leaves the rest running; one that is aborted takes its descendants with it',
    run: async (t, h, around) => {
      const work = await h.running(box());
      const times = [nap(), nap(), nap(), nap()] as const;
      // It holds the pipes of its command, and writes into them when nobody listens any more.
      const left = `(sh -c "sleep 0.3; echo unheard; exec sleep ${times[1]}" &); echo said; exit 5`;
      t.deepEqual(await h.ran(work.id, left), { stdout: 'said\n', stderr: '', end: exited(5) });
      await h.until('what was left behind', () => around.userOf(times[1]));
      const stays = await h.exec(work.id, `(setsid sleep ${times[0]} &); exec sleep 600`);
      const gone = new AbortController();
      const start = await h.engine.exec(
        {
          work: work.id,
          // A child in a session of its own, and an orphan in that of its command.
          command: [
            'sh',
            '-c',
            `trap "" TERM HUP; setsid sh -c "sleep ${times[2]}; true" & (sleep ${times[3]} </dev/null >/dev/null 2>&1 &); sleep 600`,
          ],
          env: { PATH: '/usr/bin:/bin' },
          workingDir: '/',
        },
        gone.signal,
      );
      if (start.outcome !== 'Started') return t.fail(start.outcome);
      await h.until('all of them', () => times.every((time) => around.userOf(time) !== undefined) || undefined);
      gone.abort();
      t.deepEqual(await start.execution.ended, { end: 'WorkGone' });
      await h.until('the end of all', () =>
        [times[2], times[3]].every((time) => around.userOf(time) === undefined) ? true : undefined,
      );
      for (const time of [times[0], times[1]]) t.not(around.userOf(time), undefined);
      const aborted = AbortSignal.abort(new Error('not wanted'));
      const never = { work: work.id, command: ['true'], env: {}, workingDir: '/' };
      await t.throwsAsync(h.engine.exec(never, aborted), { message: 'not wanted' });
      await h.engine.remove(work.id, true, h.patience());
      for (const time of times) t.is(around.userOf(time), undefined);
      t.deepEqual(await stays.ended, { end: 'WorkGone' });
    },
  },
  {
    name: 'exec: work that ends under a command is gone for it; work that does not run cannot be entered',
    run: async (t, h) => {
      const main = 'trap "exit 0" TERM; echo >/workspace/up; while :; do sleep 0.05; done';
      const work = await h.running(order(main, { enterable: true }));
      const command = await h.exec(
        work.id,
        'until [ -e /workspace/up ]; do sleep 0.05; done; echo ready; exec sleep 600',
      );
      await printed(command, 'ready');
      await h.engine.stop(work.id, 30, h.patience());
      t.deepEqual(await command.ended, { end: 'WorkGone' });
      t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 0 });
      t.deepEqual(await h.tryExec(work.id, ['true']), { outcome: 'NotRunning' });
      t.deepEqual(await h.tryExec('unknown.1', ['true']), { outcome: 'NotRunning' });
      const closed = await h.running(order('sleep 600'));
      await t.throwsAsync(h.tryExec(closed.id, ['true']), { name: 'EngineRefusal', message: /not ordered/ });
      await h.engine.remove(closed.id, true, h.patience());
    },
  },
  {
    name: 'exec: what cannot be executed is said to be, and why',
    run: async (t, h) => {
      const work = await h.running(box());
      t.like((await h.ran(work.id, ['no-such-program'])).end, { end: 'NotExecuted', reason: 'CommandNotFound' });
      t.like((await h.ran(work.id, ['true'], { workingDir: '/nowhere' })).end, {
        end: 'NotExecuted',
        reason: 'WorkingDirNotFound',
      });
      t.like((await h.ran(work.id, ['/etc/passwd'])).end, { end: 'NotExecuted', reason: 'CommandNotExecutable' });
      const long = await h.ran(work.id, ['true', 'x'.repeat(131_072)]);
      t.like(long.end, { end: 'NotExecuted', reason: 'CommandNotExecutable' });
      t.regex(JSON.stringify(long.end), /its arguments and environment are too long"/);
      for (const bad of [{ command: [] }, { env: { 'A=B': '' } }, { workingDir: 'x' }, { timeoutSeconds: 0 }]) {
        await t.throwsAsync(h.tryExec(work.id, ['true'], bad), { name: 'EngineRefusal', message: /bad/ });
      }
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: a command has no more memory than the work, and the work survives it',
    needs: ['memory'],
    run: async (t, h) => {
      const work = await h.running(box({ limits: { ...LIMITS, memory: 64 * MiB } }));
      t.deepEqual((await h.ran(work.id, ['tail', '/dev/zero'])).end, exited(137));
      t.is((await h.ran(work.id, ['echo', 'alive'])).stdout, 'alive\n');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: commands have no more processes than the work, and what they forked goes when their time is over',
    ownCommands: true,
    needs: ['pids'],
    run: async (t, h) => {
      const work = await h.running(box({ limits: { ...LIMITS, pids: 16 } }));
      const forks = await h.ran(work.id, 'i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); echo $i; done; wait', {
        timeoutSeconds: 20,
      });
      const forked = forks.stdout.split('\n').length - 1;
      t.true(forked >= 8 && forked <= 20, `${forked} processes`);
      const bomb = await h.ran(work.id, ['bash', '-c', ':(){ :|:& };:; sleep 600'], { timeoutSeconds: 1 });
      t.is(bomb.end.end, 'Exited');
      t.is((await h.ran(work.id, ['echo', 'alive'])).stdout, 'alive\n');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: nothing inside can end the box from within, and what ends there is reaped',
    ownCommands: true,
    run: async (t, h) => {
      const work = await h.running(box());
      const other = await h.exec(work.id, 'echo ready; exec sleep 600');
      const output = await printed(other, 'ready');
      const killer = 'kill -9 1; kill -TERM 1; kill -9 -1; echo survived; exit 3';
      t.like(await h.ran(work.id, killer), { stdout: 'survived\n', end: exited(3) });
      while ((await output.next()).done !== true);
      t.deepEqual(await other.ended, exited(137));
      // Far more than it may have processes, all orphans when they end.
      const orphans =
        'for (1 .. 1000) { my $p; until (defined($p = fork)) { select undef, undef, undef, 0.01 } if (!$p) { until (defined fork) { select undef, undef, undef, 0.01 } exit } waitpid $p, 0 }';
      t.deepEqual(await h.ran(work.id, ['perl', '-e', orphans]), { stdout: '', stderr: '', end: exited(0) });
      const look = 'until ! grep -q "State:.Z" /proc/[0-9]*/status; do sleep 0.05; done; echo none';
      t.is((await h.ran(work.id, look, { timeoutSeconds: 20 })).stdout, 'none\n');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'exec: 50 commands at once in one piece of work get their own input, output and exit code each',
    run: async (t, h) => {
      // The shells and the isolation around each command are the work's, too.
      const work = await h.running(box({ limits: { ...LIMITS, memory: 1024 * MiB, pids: 256 } }));
      const all = Array.from({ length: 50 }, async (_, index) => {
        const command = await h.exec(work.id, `read line; echo "$line"; exit ${index}`);
        await command.write(Buffer.from(`line of ${index}\n`));
        return taken(command);
      });
      for (const [index, ran] of (await Promise.all(all)).entries()) {
        t.deepEqual(ran, { stdout: `line of ${index}\n`, stderr: '', end: exited(index) });
      }
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'an idle box runs until it is stopped, which ends it at once, and its outputs are collected',
    run: async (t, h) => {
      const work = await h.running(box({ outputs: [{ name: 'made', path: '/workspace/made' }] }));
      t.like(h.reports(work.id).at(-1), { phase: 'Running' });
      t.deepEqual((await h.ran(work.id, 'echo hello >/workspace/made; echo x >/tmp/y')).end, exited(0));
      t.is((await h.ran(work.id, 'cat /workspace/made /tmp/y')).stdout, 'hello\nx\n');
      const before = Date.now();
      await h.engine.stop(work.id, 30, h.patience());
      const state = await h.ended(work.id);
      t.true(Date.now() - before < 10_000);
      t.like(state, { phase: 'Exited', exitCode: 0, reason: undefined });
      t.deepEqual(
        state.outputs?.map(({ name, size, error }) => ({ name, size, error })),
        [{ name: 'made', size: 6, error: undefined }],
      );
      t.is(await h.text(work.id), '');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'an idle box whose init fails does not run; one that is removed while it starts never does',
    run: async (t, h) => {
      const init = { name: 'init', command: ['sh', '-c', 'exit 4'], env: { PATH: '/usr/bin:/bin' } };
      t.like(await h.run(box({ init })), { phase: 'StartFailed', reason: 'InitFailed', exitCode: 4 });
      const work = box();
      const started = h.start(work);
      await h.engine.remove(work.id, true, h.patience());
      await started;
      await h.engine.remove(work.id, true, h.patience());
      t.false((await h.engine.list(h.patience())).some(({ id }) => id === work.id));
    },
  },
];
