/**
 * The service is killed at random moments, again and again, while it is written to, watched and running work.
 * What must hold afterwards: I2 (acknowledged is committed), I4 (no gap, no repeat, no step back), I5 and I8 (no index
 * succeeds twice, each replacement has a higher epoch).
 *
 * `CRASH_ROUNDS` (2, in CI 30) and `CRASH_SEED` (of the clock; printed) repeat or prolong a run.
 */
import { listAt, textAt } from '../e2e/client.js';
import test from 'ava';
import { openWatcher, flaws, type Watcher } from '../e2e/watcher.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { amount } from '../support/extent.js';
import { chanceFrom } from './chance.js';
import { canRun, judge, openPoster } from './jobs.js';
import { COLLECTION, openWriter, type Acknowledged, type Writer } from './writers.js';

const ROUNDS = amount('CRASH_ROUNDS', 2, 30);
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const WRITERS = 12;
const WATCHERS = 20;
/** Writes between two kills, at most. */
const MOST_WRITES = 250;

test.serial(
  `after ${ROUNDS} SIGKILLs at random moments nothing acknowledged is lost, repeated or out of order`,
  async (t) => {
    t.timeout(ROUNDS * 20_000 + 300_000);
    t.log(`seed ${SEED}`);
    const chance = chanceFrom(SEED);
    const service = await startRunning(t);
    const makeClient = () => service.client();
    const runs = await canRun(makeClient());
    t.true(runs);
    const existing = await makeClient().get(COLLECTION);
    const before = new Set(listAt(existing.body, 'items').map((item) => textAt(item, 'metadata', 'name')));

    const watchers = await Promise.all(Array.from({ length: WATCHERS }, () => openWatcher(makeClient, COLLECTION)));
    const writers = Array.from({ length: WRITERS }, (_, id) =>
      openWriter(id, makeClient, chanceFrom(SEED + id + 1), id % 2 === 0),
    );
    const poster = openPoster(makeClient);
    const stop = new AbortController();
    const load = Promise.all([...writers.map((writer) => writer.run(stop.signal)), poster.run(stop.signal)]);
    load.catch(() => stop.abort());
    const written = (): number => writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);

    const starts: number[] = [];
    for (let round = 0; round < ROUNDS && !stop.signal.aborted; round += 1) {
      const goal = written() + 1 + chance.below(MOST_WRITES);
      await until(`${goal} writes, in round ${round}`, () => written() >= goal || stop.signal.aborted, 60_000);
      await service.kill();
      starts.push(await service.start());
    }
    stop.abort();
    await load;
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    const resumes = watchers.reduce((sum, watcher) => sum + watcher.resumed(), 0);
    t.log(`${acknowledged.length} writes, ${poster.posted.length} Jobs, ${resumes} resumed watches`);
    t.log(`starts: median ${Math.round(starts.toSorted((a, b) => a - b)[starts.length >> 1] ?? 0)} ms`);

    t.deepEqual(
      writers.flatMap((writer) => writer.wrong),
      [],
      'answers that must not be',
    );
    t.deepEqual(await lost(makeClient, writers), [], 'what is there');
    const last = Math.max(...acknowledged.map(({ version }) => version).filter((version) => !Number.isNaN(version)));
    for (const watcher of watchers) {
      await until(
        'every watcher is up to date',
        () => watcher.version() >= last || watcher.failure() !== undefined,
        60_000,
      );
      await watcher.stop();
    }
    t.deepEqual(watched(watchers, before, acknowledged), [], 'what watchers saw');
    t.deepEqual(await judge(makeClient(), poster.posted), [], 'what Jobs did');
  },
);

/** Names whose state is not the last acknowledged one. */
async function lost(
  makeClient: () => ReturnType<Parameters<typeof openPoster>[0]>,
  writers: readonly Writer[],
): Promise<string[]> {
  const found: string[] = [];
  for (const writer of writers) {
    for (const name of writer.names) {
      const read = await makeClient().get(`${COLLECTION}/${name}`);
      const now = read.status === 404 ? undefined : textAt(read.body, 'spec', 'description');
      const due = writer.there.get(name);
      if (now !== due) found.push(`${name} holds ${now} and should hold ${due}`);
    }
  }
  return found;
}

function shown({ type, name, version }: { type: string; name: string; version: number }): string {
  return `${version} ${type} ${name}`;
}

/** Where watchers differ from each other, from the order of versions, or from what was acknowledged. */
function watched(
  watchers: readonly Watcher[],
  before: ReadonlySet<string>,
  acknowledged: readonly Acknowledged[],
): string[] {
  const found: string[] = [];
  const start = Math.min(...watchers.map((watcher) => watcher.from));
  const first = watchers.find((watcher) => watcher.from === start);
  const history = first?.seen.map(shown) ?? [];
  const marks = new Map(first?.seen.map((event) => [event.version, textAt(event.object, 'spec', 'description')]));
  for (const [at, watcher] of watchers.entries()) {
    if (watcher.failure() !== undefined) found.push(`watcher ${at}: ${watcher.failure()}`);
    found.push(...flaws(watcher, before).map((flaw) => `watcher ${at}: ${flaw}`));
    const due = history.filter((line) => Number.parseInt(line, 10) > watcher.from);
    const seen = watcher.seen.map(shown);
    const differs = due.findIndex((line, index) => line !== seen[index]);
    if (differs >= 0) found.push(`watcher ${at} saw ${seen[differs]} where another saw ${due[differs]}`);
    else if (seen.length !== due.length) found.push(`watcher ${at} saw ${seen.length} changes, another ${due.length}`);
  }
  const seen = new Set(history);
  for (const write of acknowledged) {
    if (Number.isNaN(write.version)) continue;
    if (!seen.has(shown(write))) found.push(`nobody saw ${shown(write)}, which was acknowledged`);
    else if (write.mark !== undefined && marks.get(write.version) !== write.mark) {
      found.push(`${shown(write)} was seen with ${marks.get(write.version)} and written with ${write.mark}`);
    }
  }
  if (history.length !== acknowledged.length) {
    found.push(`${history.length} changes were seen and ${acknowledged.length} made`);
  }
  return found.slice(0, 20);
}
