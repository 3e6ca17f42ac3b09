/** Postings with their lines as they are read: by the wallet's route, and by the export of a month. */
import type { PostingReason } from '../../src/money/book.js';
import type { Segment } from '../../src/money/hold.js';

export interface LedgerEntry {
  /** In the order of commits. */
  readonly position: number;
  /** ms. */
  readonly time: number;
  readonly key: string;
  readonly reason: PostingReason;
  /** Month in which it counts. */
  readonly period: string;
  readonly project?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** uid of the object. */
  readonly owner?: string | undefined;
  readonly segment?: Segment | undefined;
  /** Names of the counters on which it counts. */
  readonly counters: readonly string[];
  readonly amountUSD: string;
  readonly coveredUSD: string;
  /** Of a Credit: name of its CreditGrant; absent: it is of an earlier version, or the grant is gone. */
  readonly grant?: string | undefined;
  readonly lines: readonly { readonly account: string; readonly amountUSD: string }[];
}

export type EntryRow = [
  position: number,
  time: number,
  key: string,
  reason: LedgerEntry['reason'],
  period: string,
  project: string | null,
  labels: Record<string, string> | null,
  owner: string | null,
  segment: Segment | null,
  counters: string[],
  amount: string,
  covered: string,
  lines: { account: string; amountUSD: string }[],
  grant: string | null,
];

export function entryOf([
  position,
  time,
  key,
  reason,
  period,
  project,
  labels,
  owner,
  segment,
  counters,
  amount,
  covered,
  lines,
  grant,
]: EntryRow): LedgerEntry {
  return {
    ...{ position, time, key, reason, period, counters, lines, amountUSD: amount, coveredUSD: covered },
    ...(grant !== null && { grant }),
    ...{ project: project ?? undefined, labels: labels ?? undefined },
    ...{ owner: owner ?? undefined, segment: segment ?? undefined },
  };
}

/** In the order of `EntryRow`, of postings `p` and of lines in this table. */
export const ENTRY_COLUMNS = (lines: string): string => `
  p.position, floor(extract(epoch FROM p.time) * 1000)::bigint, p.key, p.reason, p.period, p.project, p.labels, p.owner,
  p.segment, p.counters, p.amount_usd::text, p.covered_usd::text,
  (SELECT coalesce(json_agg(json_build_object('account', l.account, 'amountUSD', l.amount_usd::text) ORDER BY l.line), '[]')
   FROM ${lines} l WHERE (l.org, l.posting, l.time) = (p.org, p.key, p.time)),
  CASE WHEN p.reason = 'Credit' THEN (
    SELECT g.name FROM grants g WHERE g.org = p.org AND g.uid = substr(p.key, ${'credit/'.length + 1})
  ) END`;
