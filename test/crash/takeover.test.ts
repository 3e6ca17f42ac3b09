/**
 * COMMITs are lost at random, before or after they reach Postgres, while a second committer takes over and writes the same
 * objects at the same versions. What must hold: I2 (what was answered Committed is in the log at that very version, with that
 * very content) and I3 (what was refused is not there).
 *
 * `TAKEOVER_ROUNDS` (20) and `TAKEOVER_SEED` (of the clock; printed) repeat or prolong a run.
 */
import test from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCommitter } from '../../storage/commit/committer.js';
import type { Committer, CommitResult } from '../../storage/commit/request.js';
import { openPostgres } from '../../storage/postgres.js';
import { openProxy, type Cut } from '../storage/cutting-proxy.js';
import { address, insert, openFixture, seal, update, versionOf } from '../storage/fixtures.js';
import { chanceFrom } from './chance.js';

const ROUNDS = Number(process.env['TAKEOVER_ROUNDS'] ?? 20);
const SEED = Number(process.env['TAKEOVER_SEED'] ?? Date.now() % 1_000_000);
/** Enough for both connections of a committer. */
const OBJECTS = 24;
/** Writes of each object in a round, at most. */
const MOST_WRITES = 6;
const MOST_AWAY_MS = 400;
/** Those that leave time for a takeover in between are drawn more often. */
const CUTS: readonly Cut[] = [
  'answer',
  'commit',
  'answer and away',
  'answer and away',
  'commit and away',
  'commit and away',
];

interface Written {
  readonly mark: string;
  readonly result: CommitResult;
}

test(`in ${ROUNDS} takeovers with lost COMMITs every answer is true`, async (t) => {
  t.timeout(ROUNDS * 15_000 + 60_000);
  t.log(`seed ${SEED}`);
  const chance = chanceFrom(SEED);
  const f = await openFixture(t);
  const proxy = await openProxy(f.url);
  t.teardown(() => proxy.close());
  const postgres = openPostgres({ url: proxy.url });
  t.teardown(() => postgres.close());
  const names = Array.from({ length: OBJECTS }, (_, i) => `n${i}`);
  for (const name of names) versionOf(await f.committer.commit(insert(name), undefined));

  const current = async (name: string): Promise<number> => (await f.store.objects.read(address(name)))?.version ?? 0;
  const options = { seal, publish: () => {}, onFenced: () => {}, objectsPerOrg: 1_000 };
  let epoch = f.lease.epoch;

  /** Writes one object again and again, as its actor would: the next write names the version of the one before. */
  async function write(by: Committer, name: string, tag: string, writes: number, into: Written[]): Promise<void> {
    let version = await current(name);
    for (let i = 0; i < writes; i++) {
      const mark = `${tag}.${name}.${i};`;
      const result = await by.commit(update(name, version, {}, mark), Buffer.alloc(0));
      into.push({ mark, result });
      if (result.outcome !== 'Committed') return;
      version = result.version;
    }
  }

  const seen = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const written: Written[] = [];
    const first = await openCommitter({ ...options, postgres, epoch });
    const how = CUTS[chance.below(CUTS.length)] ?? 'commit';
    const away = chance.below(MOST_AWAY_MS);
    // One alone: the second committer's first version is then the lost one's, of the same uid.
    const contended = chance.is(0.5) ? names.slice(0, 1) : names;
    const cuts = proxy.cuts();
    const writes = 2 + chance.below(MOST_WRITES);
    const old = Promise.all(contended.map((name) => write(first, name, `r${round}.first`, writes, written)));
    // Somewhere in the middle.
    await sleep(chance.below(10));
    proxy.cut(how, away);
    let finished = false;
    void old.then(() => (finished = true));
    while (proxy.cuts() === cuts && !finished) await new Promise(setImmediate);
    await sleep(chance.is(0.7) ? chance.below(20) : chance.below(2 * MOST_AWAY_MS));

    epoch += 1;
    await f.store.postgres.write({ name: 'take over', text: 'UPDATE clock SET epoch = epoch + 1' });
    const second = await openCommitter({ ...options, postgres: f.store.postgres, epoch });
    await Promise.all(contended.map((name) => write(second, name, `r${round}.second`, 2, written)));
    await old;
    await first.close();
    await second.close();

    const log = await f.store.postgres.readRows<[number, string]>(
      { name: 'log', text: `SELECT version, after FROM changes WHERE after LIKE $1` },
      [`%r${round}.%`],
    );
    const at = new Map(log.map(([version, after]) => [/r\d+\.\w+\.n\d+\.\d+;/.exec(after)?.[0] ?? '', version]));
    for (const { mark, result } of written) {
      seen.set(`${how}: ${result.outcome}`, (seen.get(`${how}: ${result.outcome}`) ?? 0) + 1);
      if (result.outcome === 'Committed') t.is(at.get(mark), result.version, `${mark} after "${how}", round ${round}`);
      else t.is(at.get(mark), undefined, `${mark} was answered ${result.outcome} after "${how}", round ${round}`);
    }
    t.is(log.length, written.filter(({ result }) => result.outcome === 'Committed').length);
  }
  t.log(Object.fromEntries(seen));
});
