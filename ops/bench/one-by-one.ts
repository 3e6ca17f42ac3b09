/**
 * What the ledger is compared with: the same transfers, each in a transaction of its own, as a client of Postgres writes them who locks the
 * counters and checks their limits. Tables of its own, of the same form; each transaction is one message to Postgres, so that only its
 * work and its commit are counted, and no trips.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres } from '../../storage/postgres.js';
import { BUDGETS, ORG } from './ledger-fixture.js';
import { Sample } from './numbers.js';

const CLIENTS = 8;
const TABLES = ['counters', 'holds'] as const;
const FIXED = [...BUDGETS.map(({ uid }) => `budget/${uid}`), 'wallet'];

const hold = (uid: string): string => `
BEGIN;
INSERT INTO one_counters (org, counter, spent_usd, held_usd, opening_usd, holders, boot_usd, running_usd, restore_usd, teardown_usd, covered, revision)
VALUES ('${ORG}', 'cost/${uid}', 0, 0, 0, 0, 0, 0, 0, 0, '{}', 1);
SELECT counter FROM one_counters WHERE org = '${ORG}' AND counter = ANY('{${FIXED.join()}}') AND spent_usd + held_usd + 0.012 <= 1e10
ORDER BY counter FOR UPDATE;
UPDATE one_counters SET held_usd = held_usd + 0.012, holders = holders + 1, revision = revision + 1
WHERE org = '${ORG}' AND counter = ANY('{${[...FIXED, `cost/${uid}`].join()}}');
INSERT INTO one_holds (org, key, uid, format, body, counters, amount_usd)
VALUES ('${ORG}', '${uid}', '${uid}', 1, '{}', '{${[...FIXED, `cost/${uid}`].join()}}', 0.012);
COMMIT`;

const settle = (uid: string): string => `
BEGIN;
SELECT counter FROM one_counters WHERE org = '${ORG}' AND counter = ANY('{${FIXED.join()}}') ORDER BY counter FOR UPDATE;
UPDATE one_counters SET held_usd = held_usd - 0.012, holders = holders - 1, spent_usd = spent_usd + 0.000001, revision = revision + 1
WHERE org = '${ORG}' AND counter = ANY('{${[...FIXED, `cost/${uid}`].join()}}');
DELETE FROM one_holds WHERE org = '${ORG}' AND key = '${uid}';
INSERT INTO one_postings (org, key, reason, period, project, labels, owner, segment, counters, amount_usd, covered_usd)
VALUES ('${ORG}', '${uid}', 'Use', '2026-01', 'default', '{}', '${uid}', 'Running', '{${[...FIXED, `cost/${uid}`].join()}}', 0.000001, 0);
INSERT INTO one_lines (org, posting, line, account, amount_usd)
VALUES ('${ORG}', '${uid}', 0, 'grants/plenty', -0.000001), ('${ORG}', '${uid}', 1, 'revenue', 0.000001);
COMMIT`;

export interface OneByOne {
  readonly pairsPerSecond: number;
  /** Of one transaction, p99 (ms). */
  readonly p99: number;
}

export async function measureOneByOne(postgres: Postgres, seconds: number): Promise<OneByOne> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => postgres.connect('bench')));
  const [first] = clients;
  if (first === undefined) throw new Error('no connection');
  for (const table of TABLES) await first.query(`CREATE TABLE one_${table} (LIKE ${table} INCLUDING ALL)`);
  for (const table of ['postings', 'lines'])
    await first.query(`CREATE TABLE one_${table} (LIKE ${table} INCLUDING ALL)`);
  for (const counter of FIXED)
    await first.query(
      `INSERT INTO one_counters (org, counter, spent_usd, held_usd, opening_usd, holders, boot_usd, running_usd, restore_usd, teardown_usd, covered, revision)
       VALUES ('${ORG}', '${counter}', 0, 0, 0, 0, 0, 0, 0, 0, '{}', 1)`,
    );
  const took = new Sample();
  let [pairs, over] = [0, false];
  const timed = async (client: (typeof clients)[number], text: string): Promise<void> => {
    const begun = performance.now();
    await client.query(text);
    took.add(performance.now() - begun);
  };
  const running = clients.map(async (client, id) => {
    for (let n = 0; !over; n += 1) {
      await timed(client, hold(`one-${id}-${n}`));
      await timed(client, settle(`one-${id}-${n}`));
      pairs += 1;
    }
  });
  const begun = performance.now();
  await sleep(seconds * 1_000);
  over = true;
  await Promise.all(running);
  const elapsed = performance.now() - begun;
  await Promise.all(clients.map((client) => client.end()));
  return { pairsPerSecond: (pairs / elapsed) * 1_000, p99: took.quantiles(0.99)[0] ?? Number.NaN };
}
