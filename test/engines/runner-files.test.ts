/** What becomes of the files of work when its runner dies, and which of them count as disk. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../e2e/until.js';
import { box, LIMITS, MiB, order } from './compute-harness.js';
import { each, once } from './each-isolation.js';

once('files that are still to be saved outlive their runner, and the next one saves them', async (t, fixture, h) => {
  const work = box({ outputs: [{ name: 'tree', path: '/workspace', vital: true }] });
  const other = box();
  await h.running(work);
  await h.running(other);
  await h.ran(work.id, 'echo precious >file; chmod 500 .');
  // In the way of its outputs.
  const inTheWay = join(fixture.place.layout.outputs, work.id);
  writeFileSync(inTheWay, '');
  await h.engine.stop(work.id, 0, h.patience());
  await h.state(work.id, ({ saving }) => saving?.error !== undefined);
  for (let death = 1; death <= 2; death++) {
    const before = h.reports(work.id).at(-1)?.sequence ?? 0;
    process.kill(fixture.runnerPid() as number, 'SIGKILL');
    const still = await h.state(work.id, ({ saving, sequence }) => saving?.error !== undefined && sequence > before);
    t.is(still.phase, 'Running');
  }
  t.like(await h.ended(other.id), { phase: 'Lost' });
  // Nothing that begins meanwhile finds the files, or gets in their way.
  t.is(await h.output(order('ls -A; echo other >file')), '');
  rmSync(inTheWay);
  const ended = await h.ended(work.id);
  t.like(ended, { phase: 'Exited', exitCode: 0 });
  const [tree] = ended.outputs ?? [];
  const text = execFileSync('tar', ['--use-compress-program=zstd', '-xOf', tree?.file ?? '', './file'], {
    encoding: 'utf8',
  });
  t.is(text, 'precious\n');
  await h.engine.remove(work.id, true, h.patience());
  t.deepEqual(fixture.leftOver(), []);
});

once(
  'vital files of work that runs outlive the death of its runner, though the work does not',
  async (t, fixture, h) => {
    const work = box({ outputs: [{ name: 'tree', path: '/workspace', vital: true }] });
    await h.running(work);
    await h.ran(work.id, 'echo unsaved >file');
    process.kill(fixture.runnerPid() as number, 'SIGKILL');
    const ended = await h.ended(work.id);
    t.like(ended, { phase: 'Lost', reason: 'RunnerLost' });
    t.true((ended.endedAt ?? 0) >= (ended.startedAt ?? Infinity));
    const [tree] = ended.outputs ?? [];
    const text = execFileSync('tar', ['--use-compress-program=zstd', '-xOf', tree?.file ?? '', './file'], {
      encoding: 'utf8',
    });
    t.is(text, 'unsaved\n');
    await h.engine.remove(work.id, true, h.patience());
    t.deepEqual(fixture.leftOver(), []);
  },
);

once('work whose files are gone with its runner is Lost, and nobody waits for them', async (t, fixture, h) => {
  const work = box({ outputs: [{ name: 'tree', path: '/workspace', vital: true }] });
  await h.running(work);
  await h.ran(work.id, 'echo unsaved >file');
  const { journal, scratch } = fixture.place.layout;
  await until('the journal says where they lie', () => readFileSync(journal, 'utf8').includes('"r":"saving"'));
  const runner = fixture.runnerPid() as number;
  // As in a backup, which has the journal and no scratch.
  process.kill(runner, 'SIGSTOP');
  rmSync(scratch, { recursive: true, force: true });
  process.kill(runner, 'SIGKILL');
  const ended = await h.ended(work.id);
  t.like(ended, { phase: 'Lost', reason: 'RunnerLost', outputs: undefined });
  await h.engine.remove(work.id, true, h.patience());
  t.deepEqual(fixture.leftOver(), []);
});

each('a file that is open without a name counts as disk like any other', async (t, fixture, h) => {
  // Without groups of its own the runner has no list of a box's processes.
  if (fixture.setup.uid !== 0) {
    t.pass();
    return;
  }
  const begin = 'exec 3>/workspace/big; rm /workspace/big; head -c 8M /dev/zero >&3';
  // The last one is handed on from process to process, none of which lives for long.
  const ways = [
    'sleep 600',
    'head -c 32M /dev/zero >&3; sleep 600',
    'head -c 32M /dev/zero >&3; perl -e "$CHAIN" & exec 3>&-; sleep 600',
  ];
  const works = ways.map((rest) =>
    order(['sh', '-c', `CHAIN='$^F = 9; while (1) { $pid = fork; exit if $pid }'; ${begin}; ${rest}`], {
      limits: { ...LIMITS, memory: 256 * MiB, disk: 24 * MiB },
    }),
  );
  for (const work of works) await h.start(work);
  const [quiet = '', ...hidden] = works.map(({ id }) => id);
  for (const work of hidden) {
    const full = await h.ended(work);
    t.is(full.reason, 'DiskFull', JSON.stringify(full));
  }
  const states = await h.engine.list(h.patience());
  t.is(states.find(({ id }) => id === quiet)?.phase, 'Running');
  await h.engine.stop(quiet, 0, h.patience());
  await h.ended(quiet);
});
