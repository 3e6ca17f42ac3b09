/** What the runner promises beyond the contract: it outlives the service, obeys one master, and leaves nothing behind. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { windowsOf } from '../../src/runner/isolation/own-mounts.js';
import { until } from '../e2e/until.js';
import { amount } from '../support/extent.js';
import { box, order, taken } from './compute-harness.js';
import type { EngineFixture } from './namespaces-setups.js';
import { each, once } from './each-isolation.js';

each(
  'a runner takes windows into the kernel out of its own view of the machine, and out of nobody else’s',
  async (t, fixture) => {
    const mountsOf = (pid: number | string): string => readFileSync(`/proc/${pid}/mounts`, 'utf8');
    const windows = windowsOf(mountsOf('self'));
    const runner = fixture.runnerPid() as number;
    const apart = readlinkSync(`/proc/${runner}/ns/mnt`) !== readlinkSync('/proc/self/ns/mnt');
    // Only root has a mount namespace of its own.
    t.is(apart, fixture.setup.uid === 0);
    t.deepEqual(windowsOf(mountsOf(runner)), apart ? [] : windows);
    t.deepEqual(windowsOf(mountsOf('self')), windows);
    t.true(windows.length > 0);
  },
);

each('a restarted service adopts what runs, with its log and its exit code', async (t, fixture, h) => {
  const work = order('echo before; trap "echo after; exit 11" TERM; while :; do sleep 0.05; done');
  const finished = order('exit 5');
  await h.start(work);
  await h.run(finished);
  await h.state(work.id, ({ phase }) => phase === 'Running');
  await h.until('the first line', () => (existsSync(`${fixture.place.layout.logs}/${work.id}`) ? true : undefined));
  await h.reopen(() => fixture.open(2));
  const states = new Map((await h.engine.list(h.patience())).map((state) => [state.id, state]));
  t.like(states.get(work.id), { phase: 'Running' });
  t.like(states.get(finished.id), { phase: 'Exited', exitCode: 5 });
  await h.start(work);
  await h.engine.stop(work.id, 60, h.patience());
  t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 11 });
  const text = await h.text(work.id);
  t.true(text.startsWith('before\n') && text.includes('after\n'), text);
  t.deepEqual(h.lost, []);
});

each(
  'a runner that is killed takes its work along; the engine is told once, finds it Lost, and goes on',
  async (t, fixture, h) => {
    const works = [
      order('echo started; sleep 600'),
      order('sleep 600', { sidecars: [{ ...order('sleep 600').main, name: 'side' }] }),
    ];
    for (const work of works) await h.start(work);
    for (const work of works) await h.state(work.id, ({ phase }) => phase === 'Running');
    const done = order('exit 3');
    await h.run(done);
    const before = fixture.runnerPid();
    process.kill(before as number, 'SIGKILL');
    for (const work of works) {
      t.like(await h.state(work.id, ({ phase }) => phase === 'Lost'), { reason: 'RunnerLost' });
      const sequences = h.reports(work.id).map(({ sequence }) => sequence);
      t.deepEqual(
        sequences,
        sequences.toSorted((a, b) => a - b),
      );
    }
    t.deepEqual(h.lost, ['RunnerLost']);
    t.not(fixture.runnerPid(), before);
    t.deepEqual(fixture.leftOver(), []);
    const listed = await h.engine.list(h.patience());
    t.like(
      listed.find(({ id }) => id === done.id),
      { phase: 'Exited', exitCode: 3 },
    );
    // An id runs once, also over the death of a runner.
    await h.start(works[0] as (typeof works)[0]);
    t.is((await h.engine.list(h.patience())).find(({ id }) => id === works[0]?.id)?.phase, 'Lost');
    t.is((await h.run(order('exit 0'))).exitCode, 0);
  },
);

each(
  'a runner that is killed in the middle of many starts leaves no process, group or scratch',
  async (t, fixture, h) => {
    for (let round = 0; round < 3; round++) {
      const works = Array.from({ length: 12 }, () => order('sleep 600'));
      const starting = Promise.allSettled(works.map((work) => h.start(work)));
      await h.until('the first', () => works.find(({ id }) => h.reports(id).length > 0));
      process.kill(fixture.runnerPid() as number, 'SIGKILL');
      await starting;
      // What the dead runner had taken is Lost; what it had not is started by the next, as the engine asks again.
      const listed = await h.engine.list(h.patience());
      t.is(listed.length, works.length);
      for (const state of listed) {
        t.true(['Lost', 'Preparing', 'Running'].includes(state.phase), JSON.stringify(state));
        await h.engine.remove(state.id, true, h.patience());
      }
      t.deepEqual(fixture.leftOver(), []);
    }
  },
);

/** Bounds how large files of the runner may grow (bytes), as its own user: root needs a capability for that, which not every machine gives it. */
function limitFiles(runner: number, bytes: string): void {
  const { uid, gid } = statSync(`/proc/${runner}`);
  execFileSync('prlimit', ['--pid', String(runner), `--fsize=${bytes}:`], { uid, gid });
}

once('work that the journal cannot take is refused, and its end is the machine’s fault', async (t, fixture, h) => {
  const { journal } = fixture.place.layout;
  // So that the journal has the epoch already.
  await h.run(order('true'));
  const runner = fixture.runnerPid() as number;
  // No file of the runner's may grow beyond what its journal has: as on a full disk.
  limitFiles(runner, String(statSync(journal).size));
  const work = order('true');
  try {
    await t.throwsAsync(h.start(work), { name: 'EngineRefusal', message: /journal cannot be written/ });
  } finally {
    limitFiles(runner, 'unlimited');
  }
  t.like(await h.ended(work.id), { phase: 'StartFailed', reason: 'Unavailable' });
  t.is((await h.run(order('exit 3'))).exitCode, 3);
});

once('the end of work is told when the journal has it, however long there is no room', async (t, fixture, h) => {
  const { journal } = fixture.place.layout;
  const work = order('trap "exit 11" TERM; echo ready; exec >/dev/null 2>&1; while :; do sleep 0.05; done');
  await h.start(work);
  await until('it can be stopped', async () => (await h.text(work.id)) === 'ready\n');
  const runner = fixture.runnerPid() as number;
  limitFiles(runner, '64');
  await h.engine.stop(work.id, 60, h.patience());
  await h.state(work.id, ({ saving }) => saving?.error?.includes('write down') === true);
  const waits = (await h.engine.list(h.patience())).find(({ id }) => id === work.id);
  t.like(waits, { phase: 'Running', endedAt: undefined });
  t.false(readFileSync(journal, 'utf8').includes('"exitCode":11'));
  limitFiles(runner, 'unlimited');
  t.like(await h.ended(work.id), { phase: 'Exited', exitCode: 11 });
  // A following runner, too, says that it has ended: it is not Lost, and runs no second time.
  process.kill(fixture.runnerPid() as number, 'SIGKILL');
  const listed = await h.engine.list(h.patience());
  t.like(
    listed.find(({ id }) => id === work.id),
    { phase: 'Exited', exitCode: 11 },
  );
});

once('orders of a lower lease epoch are refused, and reading is not', async (t, fixture, h) => {
  const old = h.engine;
  const work = order('sleep 600');
  await h.start(work);
  const next = await fixture.open(2);
  await next.start(order('true'), h.patience());
  for (const refused of [
    () => old.start(order('true'), h.patience()),
    () => old.stop(work.id, 0, h.patience()),
    () => old.remove(work.id, true, h.patience()),
  ]) {
    await t.throwsAsync(refused(), { name: 'EngineRefusal', message: /epoch 1 is over/ });
  }
  t.true((await old.list(h.patience())).length >= 1);
  // The epoch survives the runner.
  process.kill(fixture.runnerPid() as number, 'SIGKILL');
  await next.facts(h.patience());
  await t.throwsAsync(old.start(order('true'), h.patience()), { name: 'EngineRefusal', message: /epoch 1 is over/ });
  await next.close();
});

once(
  'a runner without work and without a service ends itself, and finished work is still told of by the next',
  async (t, fixture, h) => {
    const work = order('echo kept; exit 4');
    await h.run(work);
    const before = fixture.runnerPid() as number;
    await h.engine.close();
    await h.until('its end', () => (existsSync(`/proc/${before}`) ? undefined : true));
    t.false(existsSync(fixture.place.layout.socket));
    await h.reopen(() => fixture.open(2));
    t.not(fixture.runnerPid(), before);
    t.like(
      (await h.engine.list(h.patience())).find(({ id }) => id === work.id),
      { phase: 'Exited', exitCode: 4 },
    );
    t.is(await h.text(work.id), 'kept\n');
    t.deepEqual(h.lost, []);
  },
  { idleSeconds: 1 },
);

/** As a backup that is put in the place of the directory: logs and journal are there, and no scratch. */
function restoreInPlace(fixture: EngineFixture): void {
  const { runnerDir } = fixture.place.settings;
  cpSync(runnerDir, `${runnerDir}.backup`, { recursive: true, filter: (from) => !from.includes('/scratch') });
  rmSync(runnerDir, { recursive: true });
  renameSync(`${runnerDir}.backup`, runnerDir);
  chmodSync(runnerDir, 0o700);
  fixture.share(runnerDir);
}

each(
  'work that dies with its runner while nobody is there has ended when the runner was last alive, not when somebody looks',
  async (t, fixture, h) => {
    const { journal } = fixture.place.layout;
    const work = await h.running(box());
    const began = statSync(journal).mtimeMs;
    await until('its runner shows that it lives', async () => statSync(journal).mtimeMs > began, 10_000);
    const pid = fixture.runnerPid() as number;
    await h.engine.close();
    process.kill(pid, 'SIGKILL');
    await until('it is gone', async () => !existsSync(`/proc/${pid}`), 10_000);
    const { startedAt = 0 } = h.reports(work.id).findLast(({ phase }) => phase === 'Running') ?? {};
    const died = new Date(startedAt + 7);
    utimesSync(journal, died, died);
    await h.reopen(() => fixture.open(2));
    t.like(
      (await h.engine.list(h.patience())).find(({ id }) => id === work.id),
      { phase: 'Lost', endedAt: startedAt + 7 },
    );
  },
);

each(
  'a runner whose directory was replaced ends itself and its work, and another one serves the directory that is there',
  async (t, fixture, h) => {
    const before = fixture.runnerPid() as number;
    const alive = await h.running(box());
    await h.engine.close();
    restoreInPlace(fixture);
    await h.reopen(() => fixture.open(2));
    t.false(existsSync(`/proc/${before}`));
    t.regex(readFileSync(fixture.place.layout.output, 'utf8'), /is not the directory that it was started on/);
    t.like(
      (await h.engine.list(h.patience())).find(({ id }) => id === alive.id),
      { phase: 'Lost' },
    );
    t.is(await h.output(order('echo in the new place')), 'in the new place\n');

    // The same under a service that is connected: it finds out with the next work.
    const running = await h.running(box());
    const second = fixture.runnerPid() as number;
    restoreInPlace(fixture);
    t.is(await h.output(order('echo in the newest place')), 'in the newest place\n');
    t.false(existsSync(`/proc/${second}`));
    t.deepEqual(h.lost, ['RunnerLost']);
    t.like(
      (await h.engine.list(h.patience())).find(({ id }) => id === running.id),
      { phase: 'Lost' },
    );
    t.deepEqual(fixture.leftOver(), []);
  },
);

once('a follower ends with the engine that it follows through', async (t, fixture, h) => {
  const work = order('echo one; sleep 600');
  await h.start(work);
  const other = await fixture.open(1);
  let lines = 0;
  for await (const _ of other.logs(work.id, { container: 'main', follow: true }, h.patience())) {
    lines++;
    void other.close();
  }
  t.is(lines, 1);
  await h.engine.remove(work.id, true, h.patience());
});

each('two services that start at once share one runner', async (t, fixture, h) => {
  const others = await Promise.all([fixture.open(1), fixture.open(1), fixture.open(1)]);
  const work = order('exit 0');
  await others[0]?.start(work, h.patience());
  t.is((await h.ended(work.id)).exitCode, 0);
  for (const other of others) await other.close();
});

each(
  'no secret, environment or command reaches the journal, the runner’s output or a process list',
  async (t, fixture, h) => {
    const value = `hush-${process.pid}`;
    const plain = order('sleep 1');
    const work = {
      ...plain,
      main: { ...plain.main, env: { ...plain.main.env, TOKEN: value } },
      secretFiles: new Map([['token', Buffer.from(value)]]),
      sidecars: [{ name: 'side', command: ['sleep', '600'], env: { TOKEN: value } }],
    };
    await h.start(work);
    await h.state(work.id, ({ phase }) => phase === 'Running');
    t.false(execFileSync('ps', ['axww', '-o', 'args'], { encoding: 'utf8' }).includes(value));
    await h.ended(work.id);
    const { layout } = fixture.place;
    for (const file of [layout.journal, layout.output]) t.false(readFileSync(file, 'latin1').includes(value), file);
    t.false(JSON.stringify(await h.engine.list(h.patience())).includes(value));
  },
);

each('dozens of starts and removals leave no process, group, mount or scratch behind', async (t, fixture, h) => {
  // A box of `unshare` takes some fifty programs.
  const cycles = amount('RUNNER_CYCLES', 24, fixture.setup.isolation === 'unshare' ? 40 : 200);
  let next = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < cycles) {
        const index = next++;
        const work = order(index % 2 === 0 ? ['true'] : 'echo x >/workspace/x; echo y >/svc/outputs/y', {
          outputs: index % 4 === 1 ? [{ name: 'y', path: '/svc/outputs/y' }] : [],
        });
        t.is((await h.run(work)).exitCode, 0);
        await h.engine.remove(work.id, true, h.patience());
      }
    }),
  );
  t.deepEqual(await h.engine.list(h.patience()), []);
  t.deepEqual(fixture.leftOver(), []);
  const { layout } = fixture.place;
  const { readdirSync } = await import('node:fs');
  t.deepEqual(readdirSync(layout.logs), []);
  t.deepEqual(readdirSync(layout.outputs), []);
});

each('a place that another user made first is refused', async (t, fixture, h) => {
  await h.engine.close();
  const { claimDirectory } = await import('../../src/engines/compute/shared/plain-name.js');
  const mine = `${fixture.base}/mine`;
  claimDirectory(mine, 0o700, fixture.setup.uid);
  chmodSync(mine, 0o777);
  t.throws(() => claimDirectory(mine, 0o700, fixture.setup.uid), { message: /another user/ });
  t.throws(() => claimDirectory(mine, 0o700, fixture.setup.uid + 1), { message: /another user/ });
  writeFileSync(`${fixture.base}/file`, '');
  t.throws(() => claimDirectory(`${fixture.base}/file`, 0o700, fixture.setup.uid), { message: /another user/ });
});

once(
  'an older runner and a newer service understand each other, and what it cannot do is refused with words that say so',
  async (t, fixture, h) => {
    // This runner speaks the previous version only.
    const { Connection } = await import('../../src/engines/compute/embedded/connection.js');
    const { socket } = fixture.place.layout;
    const direct = await Connection.open(socket, 1, () => undefined);
    t.is(direct.welcome.version, 3);
    direct.close();
    const work = order('echo through an older runner; exit 6');
    t.is((await h.run(work)).exitCode, 6);
    t.is(await h.text(work.id), 'through an older runner\n');
    const said = {
      name: 'EngineRefusal',
      code: 'Unavailable',
      message: /runner on this machine is of an older version/,
    };
    const idle = await h.running(box());
    t.is((await h.ran(idle.id, 'head -c 1000000 /dev/zero | wc -c')).stdout, '1000000\n');
    const sum = await h.exec(idle.id, 'wc -c');
    await sum.write(Buffer.alloc(1_000_000));
    sum.endInput();
    t.is((await taken(sum)).stdout, '1000000\n');
    const command = { work: idle.id, command: ['true'], env: {}, workingDir: '/' };
    await t.throwsAsync(h.tryExec(idle.id, ['true'], { terminal: { columns: 80, rows: 24 } }), said);
    await t.throwsAsync(h.engine.startProcess({ ...command, id: 'x' }, h.patience()), said);
    await t.throwsAsync(h.engine.connect(idle.id, 80, h.patience()), said);
    await t.throwsAsync(h.start(order('true', { network: { egress: 'Open' } })), said);
  },
  { protocol: [3] },
);

once('a client of the previous protocol is served by a new runner in its own words', async (t, fixture, h) => {
  const { Connection } = await import('../../src/engines/compute/embedded/connection.js');
  const events: object[] = [];
  const old = await Connection.open(fixture.place.layout.socket, 1, (event) => events.push(event), [3]);
  t.is(old.welcome.version, 3);
  await old.ask({ op: 'watch' }, h.patience());
  const work = await h.running(order('sleep 600', { enterable: true }));
  await h.until('its event', () => events.find((event) => 'states' in event));
  const command = { work: work.id, id: 'x', command: ['true'], env: {}, workingDir: '/' };
  await t.throwsAsync(old.ask({ op: 'startProcess', order: command }, h.patience()), { message: /unknown operation/ });
  old.close();
  await t.throwsAsync(
    Connection.open(fixture.place.layout.socket, 1, () => undefined, [99]),
    { message: /ended the connection/ },
  );
});

each(
  'a command is refused to a service whose lease is over, and one under way dies with its service',
  async (t, fixture, h) => {
    const work = await h.running(order('sleep 600', { enterable: true }));
    const running = await h.exec(work.id, 'echo ready; exec sleep 600');
    for await (const _ of running.output) break;
    const next = await fixture.open(2);
    await next.start(order('true'), h.patience());
    await t.throwsAsync(h.tryExec(work.id, ['true']), { name: 'EngineRefusal', code: 'StaleEpoch' });
    process.kill(fixture.runnerPid() as number, 'SIGKILL');
    t.deepEqual(await running.ended, { end: 'WorkGone' });
    await next.close();
  },
);

each('a restarted service finds detached processes as they were, with what they said', async (t, fixture, h) => {
  const work = await h.running(box());
  const script = 'echo begun; while read line; do echo "$line"; done; exit 8';
  const env = { PATH: '/usr/bin:/bin' };
  const asked = { work: work.id, id: 'kept', command: ['sh', '-c', script], env, workingDir: '/' };
  const start = await h.engine.startProcess(asked, h.patience());
  await h.reopen(() => fixture.open(2));
  t.is((await h.engine.list(h.patience())).find(({ id }) => id === work.id)?.processes, 1);
  t.deepEqual(await h.engine.startProcess(asked, h.patience()), start);
  t.is(
    await h.engine.writeProcess(work.id, 'kept', { data: Buffer.from('again\n'), end: true }, h.patience()),
    'Taken',
  );
  for await (const _ of h.engine.logs(work.id, { container: 'process-kept', follow: true }, h.patience()));
  t.is(await h.text(work.id, 'process-kept'), 'begun\nagain\n');
  await h.state(work.id, ({ processes }) => processes === 0);
  t.is((await h.engine.processes(work.id, h.patience()))?.[0]?.ended?.exitCode, 8);
  await h.engine.remove(work.id, true, h.patience());
});

each('300 commands leave no process, group, mount, pipe or descriptor behind', async (t, fixture, h) => {
  const { main: _, ...idle } = order('true');
  const work = await h.running(idle);
  const { readdirSync } = await import('node:fs');
  const descriptors = (): number => readdirSync(`/proc/${fixture.runnerPid()}/fd`).length;
  await Promise.all([h.ran(work.id, ['true']), h.ran(work.id, ['true'])]);
  const before = descriptors();
  let next = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < 300) {
        const index = next++;
        const script = index % 3 === 0 ? '(sleep 0.2 &)' : 'true';
        if (index % 5 === 0) {
          const gone = new AbortController();
          const start = await h.engine.exec({ work: work.id, command: ['cat'], env: {}, workingDir: '/' }, gone.signal);
          gone.abort();
          if (start.outcome === 'Started') await start.execution.ended;
        } else t.deepEqual((await h.ran(work.id, script)).end, { end: 'Exited', exitCode: 0, timedOut: false });
      }
    }),
  );
  // A few may come and go meanwhile (connections of the engine's own); one left by each command would be hundreds.
  await h.until('the last descriptor', () => (descriptors() <= before + 16 ? true : undefined));
  // Named pipes are made 64 at a time; those that are there wait for their first use, or are the box's own.
  t.true(readdirSync(fixture.place.layout.pipes).length <= 130);
  await h.engine.remove(work.id, true, h.patience());
  t.deepEqual(fixture.leftOver(), []);
});

each(
  'a journal of a newer version is refused at once, with words that say what to do, and left alone',
  async (t, fixture, h) => {
    // Or its link would start a runner at once that writes the journal anew.
    await h.close();
    process.kill(fixture.runnerPid() ?? 0, 'SIGKILL');
    const newer = '{"r":"format","format":99}\n{"r":"accept","id":"x.1","at":1,"containers":["main"],"new":true}\n';
    await h.until('the end of the runner', () => (fixture.runnerPid() === undefined ? true : undefined));
    writeFileSync(fixture.place.layout.journal, newer);
    if (fixture.setup.uid !== process.getuid?.()) fixture.share(fixture.place.layout.journal);
    const said = /journal is of format 99, written by a newer version of this program.*start that version again/;
    const began = Date.now();
    await t.throwsAsync(fixture.open(2), { name: 'EngineRefusal', code: 'Failed', message: said });
    // It used to take as long as a runner that may still come.
    t.true(Date.now() - began < 15_000);
    t.is(readFileSync(fixture.place.layout.journal, 'utf8'), newer);
    t.is(fixture.runnerPid(), undefined);
  },
);
