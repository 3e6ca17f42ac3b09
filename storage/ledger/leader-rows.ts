/** What the process that holds the lease reads of the ledger all the time: holds that are due, and what is to be shown. */
import type { Postgres } from '../postgres.js';
import { readDueHolds, type DueHolds } from './due-holds.js';
import { openLimitedCounters, type LimitedCounters } from './limited-counters.js';
import { openProjectionRows, type ProjectionRows } from './projection.js';

export interface LeaderRows extends ProjectionRows, LimitedCounters {
  /** As `readDueHolds`. */
  due(now: number, limit: number): Promise<DueHolds>;
}

export function openLeaderRows(postgres: Postgres): LeaderRows {
  return {
    ...openProjectionRows(postgres),
    ...openLimitedCounters(postgres),
    due: (now, limit) => readDueHolds(postgres, now, limit),
  };
}
