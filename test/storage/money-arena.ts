/**
 * Where schedules of money run: a store on a fresh Postgres whose clock can be moved, with one active committer at a time behind a proxy that
 * can cut its connection, which can be taken over or die, and the log of what was decided about money.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openCommitter } from '../../storage/commit/committer.js';
import type { Committer, CommitRequest, CommitResult, LedgerResult } from '../../storage/commit/request.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { openPostgres, type Postgres } from '../../storage/postgres.js';
import { openProxy, type Cut, type Proxy } from './cutting-proxy.js';
import { openFixture, seal } from './fixtures.js';
import { openMoneyLog, type MoneyLog } from './money-log.js';

type Result = CommitResult | LedgerResult;

export interface Arena {
  readonly postgres: Postgres;
  readonly log: MoneyLog;
  /** ms on Postgres's clock as it was moved, roughly. */
  now(): number;
  /** Between two transactions. */
  move(ms: number): Promise<void>;
  commit(request: CommitRequest): Promise<CommitResult>;
  ledger(org: string, operations: readonly MoneyOperation[]): Promise<LedgerResult>;
  cut(how: Cut): void;
  /** Another process takes the lease; the one before may have transactions under way. */
  takeOver(): Promise<void>;
  /** The process dies between its next COMMIT and the answer, and another one takes over. */
  die(): Promise<void>;
  /** Waits until nothing is under way, learns what has committed, and throws when an answer was wrong. */
  settle(): Promise<void>;
  /** What callers were answered, by outcome. */
  readonly answers: Map<string, number>;
}

interface Active {
  readonly committer: Committer;
  readonly proxy: Proxy;
  readonly postgres: Postgres;
}

const DIES_WITHIN_MS = 5_000;

export async function openArena(t: Parameters<typeof openFixture>[0]): Promise<Arena> {
  const f = await openFixture(t);
  await f.committer.close();
  const { pool } = f.store.postgres;
  const database = new URL(f.url).pathname.slice(1);
  // Before any of these tables' statements is prepared by a committer: functions are found by the path.
  for (const sql of [
    'CREATE SCHEMA moved',
    'CREATE TABLE moved.by AS SELECT 0::bigint AS ms',
    `CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
       'SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM moved.by) * interval ''1 millisecond'''`,
    `ALTER DATABASE ${database} SET search_path = moved, pg_catalog, public`,
  ])
    await pool.query(sql);
  const log = openMoneyLog(f.store.postgres);
  const answers = new Map<string, number>();
  let { epoch } = f.lease;
  let moved = 0;
  let asked: { readonly operations: readonly MoneyOperation[]; readonly result: Result }[] = [];
  const past: Active[] = [];
  let active = await open();
  t.teardown(async () => {
    for (const one of [...past, active]) await end(one);
  });

  async function open(): Promise<Active> {
    const proxy = await openProxy(f.url);
    const postgres = openPostgres({ url: proxy.url });
    const common = { postgres, epoch, seal, publish: () => {}, onFenced: () => {}, objectsPerOrg: 200_000 };
    return { proxy, postgres, committer: await openCommitter({ ...common, closeWithin: 50, onMoney: log.note }) };
  }

  async function end(one: Active): Promise<void> {
    await one.committer.close();
    await one.postgres.close();
    one.proxy.close();
  }

  function noted<R extends Result>(operations: readonly MoneyOperation[], result: R): R {
    answers.set(result.outcome, (answers.get(result.outcome) ?? 0) + 1);
    if (operations.length > 0) asked.push({ operations, result });
    return result;
  }

  async function takeOver(): Promise<void> {
    epoch += 1;
    await pool.query('UPDATE clock SET epoch = $1', [epoch]);
    past.push(active);
    active = await open();
  }

  return {
    ...{ postgres: f.store.postgres, log, answers, takeOver },
    now: () => Date.now() + moved,
    async move(ms) {
      // Behind the clock row's lock, so that a transaction sees one time.
      await pool.query(
        'WITH l AS MATERIALIZED (SELECT FROM clock FOR UPDATE) UPDATE moved.by SET ms = ms + $1 FROM l',
        [ms],
      );
      moved += ms;
    },
    async commit(request) {
      return noted(request.money, await active.committer.commit(request, Buffer.alloc(0)));
    },
    async ledger(org, operations) {
      return noted(operations, await active.committer.ledger(org, operations));
    },
    cut: (how) => active.proxy.cut(how),
    async die() {
      const dying = active;
      const cuts = dying.proxy.cuts();
      dying.proxy.cut('answer and gone');
      for (let waited = 0; dying.proxy.cuts() === cuts && waited < DIES_WITHIN_MS; waited += 5) await delay(5);
      const closed = dying.committer.close();
      await takeOver();
      await closed;
    },
    async settle() {
      for (const one of past.splice(0)) await end(one);
      for (let left = 200; ; left--) {
        try {
          await log.settle();
          break;
        } catch (error) {
          // Postgres ends the transaction of a connection that is gone in a moment.
          if (left === 0) throw error;
          await delay(50);
        }
      }
      for (const { operations, result } of asked) checkAnswer(log, operations, result);
      asked = [];
    },
  };
}

/** I7: what was answered is what was done, once. */
function checkAnswer(log: MoneyLog, operations: readonly MoneyOperation[], result: Result): void {
  const times = log.timesApplied(operations);
  const last = log.lastAnswer(operations);
  const wrong = (what: string): never => {
    throw new Error(`${what}: ${JSON.stringify({ operations, result, times, last })}`);
  };
  if (times > 1) wrong('carried out twice');
  switch (result.outcome) {
    case 'Committed':
      if ('results' in result) {
        if (JSON.stringify(last?.results) !== JSON.stringify(result.results)) wrong('other results than were decided');
      } else if (times !== 1) wrong('answered yes, and not done');
      return;
    case 'HoldRefused':
    case 'DuplicateKey':
      if (times !== 0 || JSON.stringify(last?.refusal) !== JSON.stringify(result))
        wrong('another refusal than was decided');
      return;
    case 'Unknown':
      return;
    default:
      if (times !== 0) wrong('answered no, and done');
  }
}
