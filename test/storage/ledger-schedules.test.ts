/**
 * Random schedules of money against real Postgres: 1 to 64 callers of an org at once, several orgs on one active committer, while connections
 * are cut, processes die and others take over, and the clock jumps over months. No wrong yes, no wrong no, nothing lost, nothing twice (I7).
 *
 * LEDGER_SCHEDULES says how many, LEDGER_SEED which ones, LEDGER_MINUTES when to stop at the latest. Without them it is a minute's worth.
 */
import test from 'ava';
import { setTimeout as delay } from 'node:timers/promises';
import { openArena, type Arena } from './money-arena.js';
import type { Tally } from './money-log.js';
import { MOST_OPERATIONS, randomOf, runSchedule } from './money-schedule.js';

const ASKED = process.env['LEDGER_SCHEDULES'];
const SCHEDULES = Number(ASKED ?? 200);
const MINUTES = Number(process.env['LEDGER_MINUTES'] ?? 1);
const SEED = Number(process.env['LEDGER_SEED'] ?? 20_261_123);
/** Enough that everything happens in some of them. */
const MANY = 100;
/** Schedules that share a committer at a time. */
const TOGETHER = 20;
/** Databases beside each other: a schedule waits for clocks, cuts and takeovers nearly all the time. */
const ARENAS = ASKED === undefined ? 1 : 8;

type Trouble = 'None' | 'Cuts' | 'TakeOver' | 'Death';

async function disturb(arena: Arena, trouble: Trouble, waits: number): Promise<void> {
  switch (trouble) {
    case 'None':
      return;
    case 'Cuts':
      for (const how of ['answer', 'commit', 'answer'] as const) {
        await delay(waits);
        arena.cut(how);
      }
      return;
    case 'TakeOver':
      await delay(waits);
      return arena.takeOver();
    case 'Death':
      await delay(waits);
      return arena.die();
  }
}

/** So many schedules at once, from the number `first` on, and one disturbance. */
async function wave(arena: Arena, first: number, count: number, tally: Tally): Promise<void> {
  const random = randomOf(SEED ^ (first * 7_919));
  const trouble = random.of<Trouble>(['None', 'None', 'Cuts', 'TakeOver', 'Death']);
  const schedules = Array.from({ length: count }, (_, i) => {
    const seed = SEED + first + i;
    return { org: `o-${seed}`, seed, operations: 10 + random.below(MOST_OPERATIONS - 9) };
  });
  await Promise.all([
    ...schedules.map((schedule) => runSchedule(schedule, arena)),
    disturb(arena, trouble, random.below(40)),
  ]);
  await arena.settle();
  for (const { org } of schedules) await arena.log.prove(org, tally);
  arena.log.forget();
}

test('in random schedules of many callers, with lost answers, takeovers and deaths, every yes and every no is right, and each operation is done once', async (t) => {
  t.timeout((MINUTES + 2) * 60_000);
  const tally: Tally = { transactions: 0, operations: 0, outcomes: new Map() };
  const until = Date.now() + MINUTES * 60_000;
  const arenas = await Promise.all(Array.from({ length: ARENAS }, () => openArena(t)));
  let begun = 0;
  let done = 0;
  await Promise.all(
    arenas.map(async (arena) => {
      while (begun < SCHEDULES && Date.now() < until) {
        const first = begun;
        const count = Math.min(TOGETHER, SCHEDULES - begun);
        begun += count;
        await wave(arena, first, count, tally);
        done += count;
      }
    }),
  );
  const outcomes = [...tally.outcomes].map(([name, times]) => `${name}: ${times}`).toSorted();
  t.log(`${done} schedules from seed ${SEED}: ${tally.transactions} transactions, ${tally.operations} operations`);
  t.log(outcomes.join(', '));
  for (const { answers } of arenas) t.log([...answers].map(([outcome, times]) => `${outcome}: ${times}`).join(', '));
  t.true(done >= (ASKED === undefined ? TOGETHER : SCHEDULES), `${done} schedules: the time was too short`);
  if (done < MANY) return;
  for (const seen of [
    ...['Place Applied', 'Place Refused by Budget', 'Place Refused by Cap', 'Place Refused by Wallet'],
    ...['Place DuplicateKey', 'Renew Applied', 'Correct Applied', 'Credit Nothing'],
    ...['Draw Applied', 'Draw Applied without money', 'Draw Nothing', 'Count Applied'],
  ])
    t.true((tally.outcomes.get(seen) ?? 0) > 0, `${seen} was never seen`);
});
