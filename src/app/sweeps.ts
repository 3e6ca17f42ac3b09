/** What the leader clears away all the time: rows and blobs that are past their time. And it rewraps what an earlier master key sealed. */
import type { Actors } from '../../actors/open.js';
import { openLedgerMonths } from '../../storage/ledger/months.js';
import { openTestCheckouts, UNPAID_KEPT_MS } from '../../storage/payments/test-checkouts.js';
import { sweepUse } from '../../storage/inference/use.js';
import type { Postgres } from '../../storage/postgres.js';
import type { Clock } from '../../storage/store.js';
import { runSweeps, storedSweeps, type Sweep } from '../../storage/run-sweeps.js';
import { rewrapSecrets } from '../../storage/rewrap.js';
import type { LeaderDeps } from './leader.js';

const SWEEP_ROWS_MS = 60_000;
const SWEEP_BLOBS_MS = 3_600_000;
const SWEEP_USE_MS = 600_000;
const SWEEP_PAGES_MS = 3_600_000;
const CLOSE_MONTHS_MS = 3_600_000;
/** Statuses show the last 24 hours. */
const USE_KEPT_MS = 25 * 3_600_000;
/** Rows that are removed together. */
const USES_AT_ONCE = 5_000;
const EVENTS_KEPT_MS = 30 * 24 * 3_600_000;

/** They go on until `stopping` is aborted. */
export function startSweeps(
  { config, store, keys, blobs, metrics }: Pick<LeaderDeps, 'config' | 'store' | 'keys' | 'blobs' | 'metrics'>,
  actors: Pick<Actors, 'moveFloor'>,
  stopping: AbortSignal,
): void {
  const problem = (what: string, error: unknown): void => {
    if (!stopping.aborted)
      metrics.observe.problem('the sweeps', `${what}: ${error instanceof Error ? error.message : 'failed'}`);
  };
  const { postgres, changes, responses } = store;
  // At least twice within the history that is kept, so that it never grows to more than one and a half times of it.
  const every = Math.min(SWEEP_ROWS_MS, (config.watchHistorySeconds * 1_000) / 2);
  const sweeps: readonly Sweep[] = [
    ...storedSweeps({
      ...{ postgres, changes, responses, every, eventsKept: EVENTS_KEPT_MS, now: store.clock },
      onFloor: (floor) => actors.moveFloor(floor),
    }),
    { name: 'months of the ledger', every: CLOSE_MONTHS_MS, run: (signal) => closeMonths(postgres, problem, signal) },
    { name: 'use of models', every: SWEEP_USE_MS, run: (signal) => sweepUses(postgres, store.clock, signal) },
    {
      ...{ name: 'unpaid pages of the test processor', every: SWEEP_PAGES_MS },
      run: (signal) => openTestCheckouts(postgres).sweepUnpaid(store.clock() - UNPAID_KEPT_MS, signal),
    },
    {
      ...{ name: 'blobs', every: SWEEP_BLOBS_MS },
      run: (signal) => blobs.sweep(signal),
      overdue: () => blobs.overdueMs(),
    },
  ];
  void runSweeps(sweeps, { onOverdue: metrics.observe.overdue, onProblem: problem }, stopping);
  void rewrapSecrets(postgres, keys, stopping).then(({ unreadable }) => {
    if (unreadable > 0)
      metrics.observe.problem('stored Secrets', `${unreadable} secret versions do not open with any master key here`);
  });
}

async function closeMonths(
  postgres: Postgres,
  problem: (what: string, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const left = await openLedgerMonths(postgres).close(signal);
  if (left !== undefined)
    problem(
      'months of the ledger',
      new Error(`${left} is not closed: a posting of it does not add up (GET /ops/v1/ledger)`),
    );
}

async function sweepUses(postgres: Postgres, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let removed = USES_AT_ONCE; removed === USES_AT_ONCE && !signal.aborted;)
    removed = await sweepUse(postgres, clock() - USE_KEPT_MS, USES_AT_ONCE);
}
