/** What is kept of what programs print, and how it is read. */
import type { LogLine } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { LIMITS, MiB, order, ORG_LOG_BYTES } from '../compute-harness.js';
import { until } from '../../e2e/until.js';

/** `step n` waits for the nth SIGTERM; what the shell says about its killed children goes nowhere. */
const STEPS =
  'exec 9>&2 2>/dev/null; n=0; trap "n=\\$((n+1))" TERM; step() { while [ $n -lt $1 ]; do sleep 0.05; done; };';

export const logCases: readonly ContractCase[] = [
  {
    name: 'every line carries its stream and a time that does not go back',
    run: async (t, h) => {
      // Each part waits for a signal, so that the order does not hang on how busy the machine is.
      const work = order(`${STEPS} echo a; step 1; echo b >&9; step 2; echo c`);
      await h.start(work);
      const seen: LogLine[] = [];
      for await (const line of h.engine.logs(work.id, { container: 'main', follow: true }, h.patience())) {
        seen.push(line);
        await h.engine.stop(work.id, 600, h.patience());
      }
      t.deepEqual(seen.map(show), ['stdout a\n', 'stderr b\n', 'stdout c\n']);
      const times = seen.map(({ time }) => time);
      t.deepEqual(
        times,
        times.toSorted((x, y) => x - y),
      );
    },
  },
  {
    name: 'a follower gets lines while the work runs, and its end',
    run: async (t, h) => {
      const work = order('trap "echo two; exit 0" TERM; echo one; while :; do sleep 0.05; done');
      await h.start(work);
      const got: string[] = [];
      for await (const line of h.engine.logs(work.id, { container: 'main', follow: true }, h.patience())) {
        got.push(show(line));
        if (got.length === 1) await h.engine.stop(work.id, 30, h.patience());
      }
      t.true(got.includes('stdout one\n') && got.includes('stdout two\n'));
      t.is((await h.ended(work.id)).exitCode, 0);
    },
  },
  {
    name: 'tail and since cut from the front',
    run: async (t, h) => {
      const work = order(`${STEPS} for i in $(seq 1 100); do echo line $i; done; step 1; echo last`);
      await h.start(work);
      for await (const line of h.engine.logs(work.id, { container: 'main', follow: true }, h.patience())) {
        if (show(line) === 'stdout line 100\n') await h.engine.stop(work.id, 600, h.patience());
      }
      await h.ended(work.id);
      t.deepEqual((await h.lines(work.id, { tail: 3 })).map(show), [
        'stdout line 99\n',
        'stdout line 100\n',
        'stdout last\n',
      ]);
      t.deepEqual(await h.lines(work.id, { tail: 0 }), []);
      t.is((await h.lines(work.id, { tail: 1000 })).length, 101);
      const all = await h.lines(work.id);
      const since = all.at(-1)?.time ?? 0;
      // On a busy machine what came before may have the same millisecond.
      t.deepEqual((await h.lines(work.id, { since })).map(show), all.filter(({ time }) => time >= since).map(show));
      t.deepEqual(await h.lines(work.id, { since: since + 1 }), []);
    },
  },
  {
    name: 'bytes arrive as they were written, long lines in pieces',
    run: async (t, h) => {
      const work = order([
        'sh',
        '-c',
        'head -c 100000 /dev/urandom >/workspace/r; sha256sum </workspace/r >&2; cat /workspace/r; head -c 70000 /dev/zero | tr "\\0" x; echo; printf end',
      ]);
      await h.run(work);
      const lines = await h.lines(work.id);
      t.true(lines.every(({ data }) => data.length <= 16 * 1024));
      const bytes = Buffer.concat(lines.filter(({ stream }) => stream === 'stdout').map(({ data }) => data));
      const { createHash } = await import('node:crypto');
      const expected = lines
        .filter(({ stream }) => stream === 'stderr')
        .map(show)
        .join('');
      t.true(expected.includes(createHash('sha256').update(bytes.subarray(0, 100_000)).digest('hex')));
      t.is(bytes.subarray(100_000).toString(), `${'x'.repeat(70_000)}\nend`);
    },
  },
  {
    name: 'a flood is bounded, says what was cut, and stalls nobody',
    run: async (t, h) => {
      const limits = { ...LIMITS, logBytes: MiB };
      const flood = order('yes 0123456789012345678901234567890 | head -n 600000; echo the end', { limits });
      await h.start(flood);
      t.is((await h.run(order(['true']))).exitCode, 0);
      t.is((await h.ended(flood.id)).exitCode, 0);
      const lines = await h.lines(flood.id);
      const kept = lines.reduce((sum, { data }) => sum + data.length, 0);
      t.true(kept <= MiB, `${kept} bytes kept`);
      t.true(kept > MiB / 4, `${kept} bytes kept`);
      t.is(lines[0]?.stream, 'system');
      const cut = Number(/before line (\d+)/.exec(show(lines[0] as LogLine))?.[1]) - 1;
      // A daemon may hand over a line in two pieces, on a busy machine several.
      const counted = cut + lines.length - 1 - 600_001;
      t.true(counted >= 0 && counted <= 20, String(counted));
      t.is(show(lines.at(-1) as LogLine), 'stdout the end\n');
    },
  },
  {
    name: 'logs of one org are bounded together: the oldest are cut, and no log of another org',
    run: async (t, h) => {
      const quiet = order('echo quiet', { labels: { org: 'quiet' } });
      await h.run(quiet);
      const limits = { ...LIMITS, logBytes: 16 * MiB };
      const floods = Array.from({ length: ORG_LOG_BYTES / MiB / 8 + 2 }, () =>
        order('yes 0123456789012345678901234567890 | head -n 200000', { limits, labels: { org: 'flooding' } }),
      );
      for (const flood of floods) await h.run(flood);
      const [first, last] = [floods[0]?.id ?? '', floods.at(-1)?.id ?? ''];
      const left = await until('the oldest is cut', async () => {
        const lines = await h.lines(first);
        return lines.length === 1 && lines.map(show);
      });
      t.regex(left[0] ?? '', /^system \[everything before line 20000\d \(\d+ bytes\) was cut: /);
      t.true((await h.lines(last)).length >= 200_000);
      t.deepEqual((await h.lines(quiet.id)).map(show), ['stdout quiet\n']);
    },
  },
  {
    name: 'silent work has an empty log, also for a follower',
    run: async (t, h) => {
      const work = order(['sleep', '0.2']);
      await h.start(work);
      t.deepEqual(await h.lines(work.id, { follow: true }), []);
    },
  },
];

function show({ stream, data }: LogLine): string {
  return `${stream} ${Buffer.from(data).toString('utf8')}`;
}
