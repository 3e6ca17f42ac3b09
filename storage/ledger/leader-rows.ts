/** What the process that holds the lease reads of the ledger all the time: holds that are due, what is to be shown, and mailed. */
import type { Postgres } from '../postgres.js';
import { openCreditRows, type CreditRows } from './credits.js';
import { readDueHolds, type DueHolds } from './due-holds.js';
import { openLimitedCounters, type LimitedCounters } from './limited-counters.js';
import { openMailRows, type MailRows } from './mails.js';
import { openReboundHolds, type FindRebound } from './rebound-holds.js';
import { openProjectionRows, type ProjectionRows } from './projection.js';

export interface LeaderRows extends ProjectionRows, CreditRows, LimitedCounters, MailRows {
  /** As `readDueHolds`. */
  due(now: number, limit: number): Promise<DueHolds>;
  readonly rebound: FindRebound;
}

export function openLeaderRows(postgres: Postgres): LeaderRows {
  return {
    ...openProjectionRows(postgres),
    ...openCreditRows(postgres),
    ...openMailRows(postgres),
    ...openLimitedCounters(postgres),
    rebound: openReboundHolds(postgres),
    due: (now, limit) => readDueHolds(postgres, now, limit),
  };
}
