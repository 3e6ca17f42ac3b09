/** How work begins, ends, is stopped and removed. */
import { randomInt } from 'node:crypto';
import type { ContractCase } from './case.js';
import { FUNDING_UNKNOWN_MESSAGE, type FundedTime } from '../../../src/engines/compute/contract/engine.js';
import { box, LIMITS, MiB, order } from '../compute-harness.js';

/** So many that one of them at least would show a wrong order of signals. */
const SHELLS = 40;

/** So much memory that to give it back takes longer than to say so (bytes). */
const MUCH = 200 * MiB;

const manyShells = [
  'sh',
  '-c',
  `trap : TERM; n=0; while [ $((n += 1)) -le ${SHELLS} ]; do sh -ec "$1" & done
   until [ "$(wc -l </workspace/up)" = ${SHELLS} ]; do sleep 0.05; done 2>/dev/null
   : >/workspace/ready; echo ready
   while :; do wait && exit 3; done`,
  'sh',
  'trap "echo stopped; exit 0" TERM; echo up >>/workspace/up; while :; do sleep 0.5; done',
];

export const lifeCases: readonly ContractCase[] = [
  {
    name: 'an exit code is reported as it is, and every report is a later one of the same work',
    run: async (t, h) => {
      const work = order('exit 3');
      const state = await h.run(work);
      t.like(state, { phase: 'Exited', exitCode: 3, signal: undefined });
      t.true((state.endedAt ?? 0) >= (state.startedAt ?? Infinity));
      const sequences = h.reports(work.id).map(({ sequence }) => sequence);
      t.deepEqual(
        sequences,
        sequences.toSorted((a, b) => a - b),
      );
      t.is((await h.run(order(['true']))).exitCode, 0);
    },
  },
  {
    name: 'a program that a signal ends exits with 128 and its number',
    run: async (t, h) => {
      t.like(await h.run(order('kill -TERM $$')), { phase: 'Exited', exitCode: 143, signal: 15 });
      t.like(await h.run(order('kill -KILL $$')), { phase: 'Exited', exitCode: 137, signal: 9 });
    },
  },
  {
    name: 'the environment is exactly what the order says (but for PWD), odd names and values included',
    run: async (t, h) => {
      const env = {
        PATH: '/usr/bin:/bin',
        A: 'b \'c\' $d "e"',
        EMPTY: '',
        LINES: 'x\ny\n',
        'odd.name-1': 'kept',
        LD_PRELOAD: '/nowhere.so',
      };
      const work = order(['cat', '/proc/self/environ']);
      await h.run({ ...work, main: { ...work.main, env } });
      // Without what the loader of programs says of its variable.
      const said = (await h.lines(work.id)).filter(({ stream }) => stream === 'stdout');
      const text = Buffer.concat(said.map(({ data }) => data)).toString('utf8');
      const found = Object.fromEntries(
        text
          .split('\0')
          .filter((entry) => entry.includes('='))
          .map((entry) => [
            entry.slice(entry.lastIndexOf('\n', entry.indexOf('=')) + 1, entry.indexOf('=')),
            entry.slice(entry.indexOf('=') + 1),
          ]),
      );
      t.deepEqual({ PWD: '/workspace', ...found }, { PWD: '/workspace', ...env });
    },
  },
  {
    name: 'a second order for the same id changes nothing',
    run: async (t, h) => {
      const work = order('echo once; sleep 0.2');
      await Promise.all([h.start(work), h.start(work)]);
      await h.ended(work.id);
      await h.start({ ...work, main: { ...work.main, command: ['echo', 'twice'] } });
      t.is(await h.text(work.id), 'once\n');
      t.is((await h.engine.list(h.patience())).filter(({ id }) => id === work.id).length, 1);
    },
  },
  {
    name: 'a program that does not exist fails the start, and says so',
    run: async (t, h) => {
      t.like(await h.run(order(['no-such-program'])), { phase: 'StartFailed', reason: 'CommandNotFound' });
      t.like(await h.run(order(['/workspace/none'])), { phase: 'StartFailed', reason: 'CommandNotFound' });
    },
  },
  {
    name: 'a command that is longer than the system takes fails the start as the fault of the order, and names what to shorten',
    run: async (t, h) => {
      const said = { phase: 'StartFailed', reason: 'CommandNotExecutable' };
      const many = Array.from({ length: 25 }, () => 'x'.repeat(100_000));
      for (const args of [['x'.repeat(131_072)], many]) {
        const state = await h.run(order(['true', ...args]));
        t.like(state, said);
        t.regex(state.message ?? '', /arguments and environment are too long/);
      }
      const held = order(['true']);
      const begun = { ...held, sidecars: [{ ...held.main, name: 'side', command: ['sleep', '600'] }] };
      const main = { ...held.main, command: ['true', 'x'.repeat(131_072)] };
      t.like(await h.run({ ...begun, main }), said);
    },
  },
  {
    name: 'an image that the engine does not have fails the start',
    run: async (t, h) => {
      const state = await h.run(order(['true'], { image: 'registry.example/none:1' }));
      t.is(state.phase, 'StartFailed');
      // An engine that pulls cannot know what a registry has that it cannot look up.
      t.regex(state.reason ?? '', /^Image(NotFound|PullFailed)$/);
    },
  },
  {
    name: 'a working directory below the workspace is made; one of the system that is not there fails the start',
    run: async (t, h) => {
      t.is(await h.output(order('pwd', { workingDir: '/workspace/a/b' })), '/workspace/a/b\n');
      const state = await h.run(order('pwd', { workingDir: '/usr/nowhere' }));
      t.like(state, { phase: 'StartFailed', reason: 'WorkingDirNotFound' });
    },
  },
  {
    name: 'stop sends SIGTERM, and a program that ends by itself keeps its exit code',
    run: async (t, h) => {
      const work = order('trap "echo ending; exit 7" TERM; echo ready; while :; do sleep 0.05; done');
      await h.start(work);
      await ready(h, work.id);
      await h.engine.stop(work.id, 30, h.patience());
      t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 7 });
      t.true((await h.text(work.id)).includes('ending'));
    },
  },
  {
    name: 'SIGTERM reaches a program before what it started: no shell with -e ends with its child before its trap',
    run: async (t, h) => {
      const limits = { ...LIMITS, pids: 4 * SHELLS };
      const stopped = async (id: string, name?: string): Promise<void> => {
        const said = await h.text(id, name);
        t.is(said.match(/^stopped$/gm)?.length, SHELLS, said);
      };
      const alone = order(manyShells, { limits });
      await h.start(alone);
      await ready(h, alone.id);
      await h.engine.stop(alone.id, 30, h.patience());
      t.is((await h.ended(alone.id)).exitCode, 3);
      await stopped(alone.id);
      const side = { name: 'side', command: manyShells, env: { PATH: '/usr/bin:/bin' } };
      const beside = order('while [ ! -e /workspace/ready ]; do sleep 0.05; done', { limits, sidecars: [side] });
      t.is((await h.run(beside)).exitCode, 0);
      await stopped(beside.id, 'side');
    },
  },
  {
    name: 'a tree that ignores SIGTERM is killed whole after the grace',
    run: async (t, h) => {
      const script =
        'trap "" TERM; (trap "" TERM; setsid sh -c "trap \\"\\" TERM; echo ready; while :; do sleep 0.05; done") & wait; sleep 600';
      const work = order(script);
      await h.start(work);
      await ready(h, work.id);
      const before = Date.now();
      await h.engine.stop(work.id, 1, h.patience());
      t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 137 });
      t.true(Date.now() - before >= 900);
    },
  },
  {
    name: 'a process left in the background ends with the main program',
    run: async (t, h) => {
      const work = order('(setsid sh -c "while :; do echo alive; sleep 0.05; done") & sleep 0.2; exit 0');
      t.is((await h.run(work)).exitCode, 0);
      const lines = (await h.lines(work.id)).length;
      await h.run(order('sleep 0.3'));
      t.is((await h.lines(work.id)).length, lines);
    },
  },
  {
    name: 'work that is stopped before it began never runs',
    run: async (t, h) => {
      const work = order('echo ran; sleep 60');
      const started = h.start(work);
      await h.engine.stop(work.id, 0, h.patience());
      await started;
      await h.engine.stop(work.id, 0, h.patience());
      const state = await h.ended(work.id);
      t.true(state.phase === 'StartFailed' || state.exitCode === 137, state.phase);
    },
  },
  {
    name: 'a program that runs longer than it may is killed, with a reason',
    run: async (t, h) => {
      const work = order('trap "" TERM; sleep 60');
      const state = await h.run({ ...work, main: { ...work.main, timeoutSeconds: 1 } });
      t.like(state, { phase: 'Exited', exitCode: 137, reason: 'TimedOut' });
    },
  },
  {
    name: 'work of which nobody says that it is paid any longer is stopped gracefully, and no other',
    run: async (t, h) => {
      const script = 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.05; done';
      const [unpaid, paid, free] = [order(script), order(script), order(script)];
      const idle = box();
      const young = order(script, { fundedSeconds: 5 });
      for (const work of [unpaid, paid, free, idle, young]) await h.start(work);
      for (const { id } of [unpaid, paid, free]) await ready(h, id);
      const soon = (id: string, seconds: number | undefined): FundedTime => ({ work: id, seconds });
      await h.engine.fund([soon(paid.id, 0.3), soon(free.id, 0.3), soon('unknown.1', 0.3)], h.patience());
      await h.engine.fund([soon(paid.id, 3600), soon(free.id, undefined)], h.patience());
      await h.engine.fund([soon(unpaid.id, 1), soon(idle.id, 1)], h.patience());
      const last = await h.ended(unpaid.id);
      t.like(last, { phase: 'Exited', exitCode: 0, reason: 'FundingUnknown', message: FUNDING_UNKNOWN_MESSAGE });
      t.true((await h.text(unpaid.id)).includes('saved\n'));
      for (const { id } of [idle, young]) t.like(await h.ended(id), { phase: 'Exited', reason: 'FundingUnknown' });
      for (const { id } of [paid, free]) {
        await h.engine.stop(id, 600, h.patience());
        t.like(await h.ended(id), { phase: 'Exited', exitCode: 0, reason: undefined });
      }
    },
  },
  {
    name: 'remove ends what runs, forgets it, and keeps logs until they are to go too',
    run: async (t, h) => {
      const work = order('echo kept; sleep 600');
      await h.start(work);
      await h.until('the line', () => (h.reports(work.id).some(({ phase }) => phase === 'Running') ? true : undefined));
      await ready(h, work.id, 'kept');
      await h.engine.remove(work.id, false, h.patience());
      t.false((await h.engine.list(h.patience())).some(({ id }) => id === work.id));
      t.is(await h.text(work.id), 'kept\n');
      await h.engine.remove(work.id, true, h.patience());
      t.is(await h.text(work.id), '');
    },
  },
  {
    name: 'the end of work is reported only when none of its processes is left, also one whose end takes its time',
    run: async (t, h, around) => {
      for (const enterable of [false, true]) {
        const name = `slow${randomInt(1e9)}`;
        // What it holds has no end of line, so that it waits for more; it has none of the pipes that its end would close.
        const slow = `cp "$(command -v tail)" ${name}; (head -c ${MUCH} /dev/zero; echo ready >&2; sleep 600) | ./${name} >/dev/null 2>&1`;
        const work = order(slow, { enterable });
        await h.start(work);
        await ready(h, work.id);
        t.true(around.isListed(name));
        await h.engine.stop(work.id, 0, h.patience());
        await h.ended(work.id);
        t.false(around.isListed(name));
        await h.engine.remove(work.id, true, h.patience());
      }
    },
  },
  {
    name: 'stop and remove of unknown work succeed, and its log is empty',
    run: async (t, h) => {
      await h.engine.stop('unknown.1', 1, h.patience());
      await h.engine.remove('unknown.1', true, h.patience());
      t.deepEqual(await h.lines('unknown.1', { follow: true }), []);
      t.deepEqual(await h.lines('../../etc', { container: '../passwd' }), []);
    },
  },
];

async function ready(h: Parameters<ContractCase['run']>[1], id: string, word = 'ready'): Promise<void> {
  for await (const line of h.engine.logs(id, { container: 'main', follow: true }, h.patience())) {
    if (Buffer.from(line.data).toString('utf8').includes(word)) return;
  }
  throw new Error(`the work ended without saying ${word}`);
}
