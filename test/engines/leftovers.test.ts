/**
 * Nothing stays behind: processes, namespaces, mounts, control groups, sockets, descriptors and files of the runner are counted before
 * and after boxes were made, used in every way, and removed. `LEFTOVER_CYCLES` (16, in CI 40) makes it a soak.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type { WorkSpec } from '../../src/engines/compute/contract/engine.js';
import { Harness, order } from './compute-harness.js';
import { amount } from '../support/extent.js';
import { EngineFixture, setups } from './namespaces-setups.js';
import { descendants, entries, link } from '../support/proc.js';

const CYCLES = amount('LEFTOVER_CYCLES', 16, 40);
const AT_ONCE = 4;
/** What ends is not always gone in the same instant. */
const SETTLE_MS = 10_000;

/** Everything that could grow, as lines to compare. */
function census(fixture: EngineFixture): readonly string[] {
  const { layout, settings } = fixture.place;
  const runner = fixture.runnerPid();
  if (runner === undefined) throw new Error('there is no runner');
  const below = descendants(runner);
  const descriptors = new Map<string, number>();
  for (const number of entries(`/proc/${runner}/fd`)) {
    const kind = link(`/proc/${runner}/fd/${number}`).replace(/\[\d+\]|\d+$/, '');
    descriptors.set(kind, (descriptors.get(kind) ?? 0) + 1);
  }
  const namespaces = [runner, ...below].flatMap((pid) =>
    entries(`/proc/${pid}/ns`).map((name) => link(`/proc/${pid}/ns/${name}`)),
  );
  const files = (path: string): number => readdirSync(path, { recursive: true }).length;
  const lines = (path: string, word: string): number =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.includes(word)).length;
  return [
    ...fixture.leftOver(),
    `processes below the runner: ${below.length}`,
    `namespaces: ${new Set(namespaces).size}`,
    ...[...descriptors].map(([kind, count]) => `descriptors of ${kind}: ${count}`).toSorted(),
    `mounts of the machine: ${lines('/proc/mounts', settings.runnerId)}`,
    // Not all of them: those of other programs, such as a daemon of containers, come and go in its view too.
    `mounts of the runner: ${lines(`/proc/${runner}/mounts`, settings.runnerDir)} ${lines(`/proc/${runner}/mounts`, settings.runtimeDir)}`,
    `sockets: ${lines('/proc/net/unix', settings.runnerId)}`,
    // Of the scratch `leftOver` tells: its places are kept for who comes next, as many as were ever in use at once.
    `logs: ${files(layout.logs)}`,
    `outputs: ${files(layout.outputs)}`,
    `runtime: ${files(settings.runtimeDir)}`,
  ];
}

/** One box, with all that can be left by what runs in it. */
async function cycle(h: Harness, number: number): Promise<void> {
  const { main: _, ...rest } = order('true');
  const box: WorkSpec = { ...rest, secretFiles: new Map([['key', Buffer.from('value')]]) };
  const work = await h.running(box);
  const mess =
    'mkdir -p a/b; echo x >a/b/c; mkfifo p; ln -s / l; setsid sleep 600 & (sleep 600 &) ; echo y >/tmp/f; echo z >/dev/shm/g; echo done';
  const ran = await h.ran(work.id, mess);
  if (ran.stdout !== 'done\n') throw new Error(JSON.stringify(ran));
  const { id, env } = { id: 'left', env: { PATH: '/usr/bin:/bin' } };
  const asked = {
    id,
    work: work.id,
    command: ['sh', '-c', 'echo said; exec sleep 600'],
    env,
    workingDir: '/workspace',
  };
  const process = await h.engine.startProcess(asked, h.patience());
  if (process.outcome !== 'Started') throw new Error(process.outcome);
  const terminal = { terminal: { columns: 80, rows: 24 } };
  const open = await h.exec(work.id, 'echo here; exec sleep 600', terminal);
  await open.output[Symbol.asyncIterator]().next();
  // Every third is stopped first, as by its owner; the others end under all that runs in them.
  if (number % 3 === 0) {
    await h.engine.stop(work.id, 0, h.patience());
    await h.ended(work.id);
  }
  await h.engine.remove(work.id, true, h.patience());
}

for (const setup of setups) {
  const title = `${setup.title}: after ${CYCLES} boxes were made, used and removed the machine is as it was`;
  if (setup.skip !== undefined) {
    test.skip(`${title} (${setup.skip})`, (t) => t.pass());
    continue;
  }
  // The others have each ended by `leftOver` in the tests of the runner; one is enough to count.
  if (setup !== setups[0]) continue;
  test(title, async (t) => {
    t.timeout(60_000 + CYCLES * 5_000);
    // As many at the end as at the beginning: they follow what is asked for.
    const fixture = EngineFixture.make(setup, { spares: 2 });
    t.teardown(() => fixture.clean());
    const h = await Harness.over(await fixture.open());
    t.teardown(() => h.close());
    let made = 0;
    const some = async (count: number): Promise<void> => {
      const last = made + count;
      const worker = async (): Promise<void> => {
        while (made < last) await cycle(h, made++);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    };
    // What is kept to be used again is there after as many as are alive at once.
    await some(AT_ONCE * 2);
    const before = census(fixture);
    await some(CYCLES);
    let after = census(fixture);
    for (
      const until = Date.now() + SETTLE_MS;
      Date.now() < until && after.join() !== before.join();
      after = census(fixture)
    ) {
      await delay(50);
    }
    t.deepEqual(after, before);
    t.deepEqual(await h.engine.list(h.patience()), []);
  });
}
