/** Boxes that a runner keeps ready: who gets them, when they are made, and that nothing of them is left. */
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { WorkSpec } from '../../src/engines/compute/contract/engine.js';
import { box, type Harness, order, taken } from './compute-harness.js';
import { type EngineFixture } from './namespaces-setups.js';
import { each, once } from './each-isolation.js';

/** Seconds since the machine began. */
const uptime = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);

/** Of work that was ordered then (s): whether its box was there before. */
async function wasReady(h: Harness, id: string, orderedAt: number): Promise<boolean> {
  // When the box's first process began, in hundredths of a second.
  const began = (await h.ran(id, 'sed "s/.*) //" /proc/1/stat | cut -d" " -f20')).stdout;
  return Number(began) / 100 < orderedAt - 0.02;
}

each(
  'a runner that is told to end leaves nothing when no work runs, and takes work that runs along',
  async (t, fixture, h) => {
    const { main: _, ...idle } = order('true');
    for (const runs of [false, true]) {
      const { id } = await h.running({ ...idle, id: `${idle.id}${runs}` });
      const { id: second } = await h.running({ ...idle, id: `${idle.id}${runs}-second` });
      await h.until('boxes that are ready', () => (boxesOf(fixture).length >= 3 ? true : undefined));
      for (const work of runs ? [second] : [id, second]) await h.engine.remove(work, true, h.patience());
      await h.engine.close();
      process.kill(fixture.runnerPid() as number, 'SIGTERM');
      await h.until('the end of the runner', () => (fixture.runnerPid() === undefined ? true : undefined));
      await h.until('the end of its boxes', () => (boxesOf(fixture).length === 0 ? true : undefined));
      if (!runs) {
        t.deepEqual(fixture.leftOver(), []);
        t.false(existsSync(fixture.place.settings.runtimeDir));
      }
      await h.reopen(() => fixture.open(2));
      if (runs)
        t.like(
          (await h.engine.list(h.patience())).find((work) => work.id === id),
          { phase: 'Lost' },
        );
    }
  },
  { spares: 2, idleSeconds: 600 },
);

/** Process ids of the boxes that run or are ready. */
function boxesOf(fixture: EngineFixture): number[] {
  const agent = new RegExp(`^process (\\d+) troupe-${fixture.place.settings.runnerId}\\s*$`);
  return fixture
    .leftOver()
    .map((line) => Number(agent.exec(line)?.[1]))
    .filter((pid) => pid > 0);
}

const ASK = `perl -MIO::Socket::UNIX -e '
  my $s = IO::Socket::UNIX->new("/run/svc/api.sock") or die "no socket: $!";
  print $s "GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";
  print((split /\\r\\n\\r\\n/, join "", <$s>)[1])'`;

each(
  'work that only wants to be entered gets a box that was ready before, and nothing of such boxes is left',
  async (t, fixture, h) => {
    const { apiDirectory = '' } = h.engine;
    const api = createServer((req, res) => void res.end(req.headers['x-svc-work']));
    api.listen(join(apiDirectory, 'api.sock'), () => chmodSync(join(apiDirectory, 'api.sock'), 0o666));
    t.teardown(() => {
      api.close();
      api.closeAllConnections();
    });
    const { main: _, ...idle } = { ...order('true'), apiDirectory };
    let ready = false;
    for (let tries = 0; tries < 40 && !ready; tries += 1) {
      const orderedAt = uptime();
      const { id } = await h.running({ ...idle, id: `${idle.id}${tries}` });
      ready = await wasReady(h, id, orderedAt);
      t.is((await h.ran(id, ASK)).stdout, id, 'it speaks to the service as its own work');
      await h.engine.remove(id, true, h.patience());
    }
    t.true(ready);
    await h.close();
    await h.until('the end of the runner', () => (fixture.runnerPid() === undefined ? true : undefined));
    t.deepEqual(fixture.leftOver(), []);
  },
  { spares: 2, idleSeconds: 1 },
);

once(
  'no box is kept ready for what was started once, and for other work no more than its use is worth',
  async (t, fixture, h) => {
    const [rare, often] = [box({ workingDir: '/tmp' }), box()];
    await h.running(rare);
    await h.running(often);
    await h.running({ ...often, id: box().id });
    await h.until('boxes that are ready', () => (boxesOf(fixture).length >= 3 + 4 ? true : undefined));
    const since = uptime();
    await h.until('a time in which none is made', () => (uptime() > since + 0.3 ? true : undefined));
    t.is(boxesOf(fixture).length, 3 + 4);
  },
  { spares: 128, idleSeconds: 1 },
);

once(
  'the first crowd finds boxes ready, and two sorts of work share them',
  async (t, fixture, h) => {
    const [one, other] = [box(), box({ workingDir: '/tmp' })];
    const crowdIsServed = async (like: WorkSpec): Promise<boolean> => {
      const crowd = Array.from({ length: 4 }, () => ({ ...like, id: box().id }));
      const orderedAt = uptime();
      const ran = await Promise.all(crowd.map(async (work) => (await h.running(work)).id));
      const ready = await Promise.all(ran.map((id) => wasReady(h, id, orderedAt)));
      for (const id of ran) await h.engine.remove(id, true, h.patience());
      return ready.every(Boolean);
    };
    const starts = async (like: WorkSpec): Promise<void> => {
      for (let start = 1; start < 4; start++) {
        const { id } = await h.running({ ...like, id: box().id });
        await h.engine.remove(id, true, h.patience());
      }
    };
    await starts(one);
    await h.running(one);
    await h.until('as many as there may be', () => (boxesOf(fixture).length === 1 + 8 ? true : undefined));
    const first = new Set(boxesOf(fixture));
    await h.running(other);
    await starts(other);
    // Half of the first sort's end for them.
    await h.until('equal shares', () => {
      const now = boxesOf(fixture);
      return now.length === 2 + 8 && now.filter((pid) => first.has(pid)).length === 1 + 4 ? true : undefined;
    });
    const since = uptime();
    await h.until('a time in which none is made', () => (uptime() > since + 0.1 ? true : undefined));
    t.true(await crowdIsServed(other));
    t.true(await crowdIsServed(one));
    await h.until('as many as before', () => (boxesOf(fixture).length === 2 + 8 ? true : undefined));
    for (const { id } of [one, other]) await h.engine.remove(id, true, h.patience());
  },
  { spares: 8, idleSeconds: 1 },
);

for (const bulk of [false, true])
  once(
    `while much goes ${bulk ? 'past' : 'through'} the runner, boxes are made ready slowly, and all of them afterwards`,
    async (t, fixture, h) => {
      const boxes = (): number => boxesOf(fixture).length;
      const busy = await h.running(box());
      const sink = await h.exec(busy.id, 'cat >/dev/null', { bulk });
      const block = Buffer.alloc(1024 * 1024);
      let sent = 0;
      let enough = false;
      const stream = (async () => {
        for (; !enough; sent += block.length) await sink.write(block);
        sink.endInput();
        await taken(sink);
      })();
      const crowd = Array.from({ length: 16 }, () => box());
      await Promise.all(crowd.map((work) => h.running(work)));
      const [before, began, sentBefore] = [boxes(), performance.now(), sent];
      await h.until('a good part of the stream', () =>
        sent - sentBefore > 150 * block.length && performance.now() - began > 1_000 ? true : undefined,
      );
      const [made, elapsedMs] = [boxes() - before, performance.now() - began];
      enough = true;
      await stream;
      // One at once, one before the rate is known, and then one each two seconds.
      const most = 3 + elapsedMs / 2_000;
      const perSecond = (sent - sentBefore) / (elapsedMs / 1_000);
      t.true(made <= most || perSecond < 40_000_000, `${made} in ${elapsedMs} ms, ${perSecond} bytes/s`);
      await h.until('all of them', () => (boxes() >= crowd.length + 1 + 16 ? true : undefined));
      for (const { id } of [busy, ...crowd]) await h.engine.remove(id, true, h.patience());
    },
    { spares: 32, idleSeconds: 1 },
  );
