/**
 * Removes what is past its time, on the leader: one loop per sweep, each with its own pace, so that one that fails
 * or takes long holds up no other. What fails is reported and done again at the next round. After each round it is measured how
 * long the oldest row that should be gone has been overdue.
 *
 * I10: a statement removes a bounded number of rows; a sweep goes on until fewer than that were left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres, Statement } from './postgres.js';
import { sweepSlots } from './slots-left.js';
import { DELIVERIES_KEPT_MS, sweepDeliveries } from './webhooks/sweep-deliveries.js';
import type { StoredResponses } from './responses.js';
import type { ChangesLog } from './store.js';

/** How often (ms). */
const EVERY = 60_000;
/** How often what is kept for days is looked at (ms). */
const EVERY_LONG = 3_600_000;
/** How long an event is kept after its last repeat (ms): 30 days. */
const EVENTS_KEPT = 30 * 24 * 3_600_000;
/** Months for which the ledger has partitions before they begin. */
const MONTHS_AHEAD = 3;
/** How long the row of a transaction without an object is kept (ms): its fate is asked within seconds. */
const LEDGER_COMMITS_KEPT = 24 * 3_600_000;
/** How long mails are kept that have ended (ms): 90 days. */
const MAILS_KEPT = 90 * 24 * 3_600_000;
const REMOVED_AT_ONCE = 5_000;

export interface Sweep {
  readonly name: string;
  /** Between the end of one round and the next (ms). */
  readonly every: number;
  run(signal: AbortSignal): Promise<unknown>;
  /** How long the oldest row that should be gone has been overdue (ms); 0: there is none. */
  overdue?(): Promise<number>;
}

export interface SweepReports {
  onOverdue(sweep: string, ms: number): void;
  onProblem(sweep: string, error: unknown): void;
}

/** Goes round until the signal ends it; the first round of each sweep starts at once. Resolves when the last round has ended. */
export async function runSweeps(sweeps: readonly Sweep[], reports: SweepReports, signal: AbortSignal): Promise<void> {
  await Promise.all(sweeps.map((sweep) => keepOn(sweep, reports, signal)));
}

async function keepOn(sweep: Sweep, reports: SweepReports, signal: AbortSignal): Promise<void> {
  const { name, every } = sweep;
  while (!signal.aborted) {
    try {
      try {
        await sweep.run(signal);
      } finally {
        // Also after a failure: it is then that the figure grows.
        if (sweep.overdue && !signal.aborted) reports.onOverdue(name, await sweep.overdue());
      }
    } catch (error) {
      if (!signal.aborted) reports.onProblem(name, error);
    }
    await sleep(every, undefined, { signal, ref: false }).catch(() => {});
  }
}

export interface SweepOptions {
  readonly postgres: Postgres;
  readonly changes: ChangesLog;
  readonly responses: StoredResponses;
  readonly every?: number | undefined;
  readonly eventsKept?: number | undefined;
  /** Milliseconds on Postgres's clock. */
  readonly now: () => number;
  /** The log's floor after a round. */
  onFloor(floor: number): void;
}

/** The sweeps of rows. */
export function storedSweeps(options: SweepOptions): readonly Sweep[] {
  const { postgres, changes, responses, every = EVERY, eventsKept = EVENTS_KEPT } = options;
  const everyLong = Math.max(every, Math.min(EVERY_LONG, every * 60));
  const overdue = async (statement: Statement, values: readonly unknown[] = []): Promise<number> => {
    const [row] = await postgres.readRows<[number | null]>(statement, values);
    return Math.max(0, row?.[0] ?? 0);
  };
  return [
    {
      ...{ name: 'changes', every },
      run: async () => options.onFloor(await changes.compact()),
      overdue: () => overdue(OVERDUE_CHANGES),
    },
    { ...{ name: 'keys', every }, run: () => responses.sweep(), overdue: () => overdue(OVERDUE_KEYS) },
    { ...{ name: 'answers', every }, run: () => responses.sweepAnswers() },
    {
      ...{ name: 'credentials', every },
      run: (signal) => untilShort(signal, () => postgres.write(SWEEP_CREDENTIALS, [REMOVED_AT_ONCE])),
      overdue: () => overdue(OVERDUE_CREDENTIALS),
    },
    { ...{ name: 'slots', every }, run: (signal) => sweepSlots(postgres, signal) },
    {
      ...{ name: 'events', every: everyLong },
      run: (signal) => sweepEvents(postgres, eventsKept, signal),
      overdue: async () => (await orgsWithOldEvents(postgres, eventsKept))[0]?.[1] ?? 0,
    },
    {
      ...{ name: 'deliveries', every: everyLong },
      run: (signal) => sweepDeliveries(postgres, options.now(), signal),
      overdue: () => overdue(OVERDUE_DELIVERIES, [DELIVERIES_KEPT_MS]),
    },
    {
      ...{ name: 'mails', every: everyLong },
      run: (signal) => untilShort(signal, () => postgres.write(SWEEP_MAILS, [MAILS_KEPT, REMOVED_AT_ONCE])),
    },
    {
      ...{ name: 'ledger', every: everyLong },
      async run(signal) {
        await postgres.readRows(MAKE_PARTITIONS, [MONTHS_AHEAD]);
        await untilShort(signal, () => postgres.write(SWEEP_LEDGER_COMMITS, [LEDGER_COMMITS_KEPT, REMOVED_AT_ONCE]));
      },
    },
  ];
}

async function untilShort(signal: AbortSignal, remove: () => Promise<number>): Promise<void> {
  while (!signal.aborted && (await remove()) === REMOVED_AT_ONCE);
}

/** Org by org, from its oldest on: the index on (org, sequence) has them in the order of time. */
async function sweepEvents(postgres: Postgres, kept: number, signal: AbortSignal): Promise<void> {
  for (const [org] of await orgsWithOldEvents(postgres, kept)) {
    await untilShort(signal, () => postgres.write(SWEEP_EVENTS, [org, kept, REMOVED_AT_ONCE]));
  }
}

type OldEvents = readonly [org: string, overdueMs: number];

function orgsWithOldEvents(postgres: Postgres, kept: number): Promise<readonly OldEvents[]> {
  return postgres.readRows<[string, number]>(OLD_EVENTS, [kept]);
}

/** Precondition: none. Result: at most $1 of the credentials whose time is over are gone; none of them opened anything. */
const SWEEP_CREDENTIALS: Statement = {
  name: 'sweep credentials',
  text: `
DELETE FROM credentials WHERE sha256 IN (SELECT sha256 FROM credentials WHERE expires < now() LIMIT $1)`,
};

/** Precondition: none. Result: of the org's $3 oldest events those whose last repeat is older than $2 ms are gone. */
const SWEEP_EVENTS: Statement = {
  name: 'sweep events',
  text: `
DELETE FROM events WHERE (uid, event, reason) IN (
  SELECT uid, event, reason FROM (
    SELECT uid, event, reason, last_time FROM events WHERE org = $1 ORDER BY sequence LIMIT $3
  ) oldest WHERE last_time < now() - $2::float8 * interval '1 millisecond'
)`,
};

/** Hops from org to org, so that its cost is the number of orgs. The longest overdue first. */
const OLD_EVENTS: Statement = {
  name: 'orgs with old events',
  text: `
WITH RECURSIVE o AS (
  (SELECT org FROM events ORDER BY org LIMIT 1)
  UNION ALL
  SELECT (SELECT e.org FROM events e WHERE e.org > o.org ORDER BY e.org LIMIT 1) FROM o WHERE o.org IS NOT NULL
)
SELECT o.org, (extract(epoch FROM now() - e.last_time) * 1000 - $1::float8)::float8 AS overdue
FROM o CROSS JOIN LATERAL (SELECT last_time FROM events WHERE org = o.org ORDER BY sequence LIMIT 1) e
WHERE e.last_time < now() - $1::float8 * interval '1 millisecond'
ORDER BY overdue DESC`,
};

/** Precondition: none. Result: this month and $1 after it have their partitions of the ledger. */
const MAKE_PARTITIONS: Statement = { name: 'make ledger partitions', text: 'SELECT make_ledger_partitions($1)' };

/** Precondition: none. Result: at most $2 rows of transactions that ended more than $1 ms ago are gone. */
const SWEEP_LEDGER_COMMITS: Statement = {
  name: 'sweep ledger commits',
  text: `
DELETE FROM ledger_commits WHERE id IN (
  SELECT id FROM ledger_commits WHERE time < now() - $1::float8 * interval '1 millisecond' ORDER BY time LIMIT $2
)`,
};

/** Precondition: none. Result: at most $2 of the mails that ended more than $1 ms ago, or about then, are gone. */
const SWEEP_MAILS: Statement = {
  name: 'sweep mails',
  text: `
DELETE FROM mails WHERE ctid IN (
  SELECT ctid FROM mails WHERE made < now() - $1::float8 * interval '1 millisecond' AND phase <> 'Waiting'
  ORDER BY made LIMIT $2
)`,
};

/** Age of the oldest change that the log's floor has passed. */
const OVERDUE_CHANGES: Statement = {
  name: 'overdue changes',
  text: `
SELECT (extract(epoch FROM now() - h.time) * 1000)::float8
FROM clock c CROSS JOIN LATERAL (SELECT version, time FROM changes ORDER BY version LIMIT 1) h
WHERE h.version <= c.floor`,
};

const OVERDUE_KEYS: Statement = {
  name: 'overdue keys',
  text: 'SELECT (extract(epoch FROM now() - expires) * 1000)::float8 FROM idempotency ORDER BY expires LIMIT 1',
};

const OVERDUE_CREDENTIALS: Statement = {
  name: 'overdue credentials',
  text: `
SELECT (extract(epoch FROM now() - expires) * 1000)::float8 FROM credentials
WHERE expires IS NOT NULL ORDER BY expires LIMIT 1`,
};

const OVERDUE_DELIVERIES: Statement = {
  name: 'overdue deliveries',
  text: `
SELECT (extract(epoch FROM now() - time) * 1000 - $1::float8)::float8 FROM deliveries
WHERE phase <> 'Pending' ORDER BY id LIMIT 1`,
};
