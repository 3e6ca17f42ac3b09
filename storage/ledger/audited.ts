/** What the auditor of the ledger reads: the orgs that have one, and of each what differs and how much there is. Whole store. */
import type { Postgres, Statement } from '../postgres.js';
import { auditLedger, OPEN, type LedgerFinding } from './audit.js';

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer in time. */
export interface AuditedLedger {
  /** Those behind `after`, in order, at most `limit`. */
  orgs(after: string, limit: number): Promise<readonly string[]>;
  /** Lines of double entry in months that are not closed. */
  lines(org: string): Promise<number>;
  findings(org: string): Promise<readonly LedgerFinding[]>;
}

export function openAuditedLedger(postgres: Postgres): AuditedLedger {
  return {
    async orgs(after, limit) {
      return (await postgres.readRows<[string]>(ORGS, [after, limit])).map(([org]) => org);
    },
    async lines(org) {
      const [row] = await postgres.readRows<[number]>(LINES, [org]);
      return row?.[0] ?? 0;
    },
    findings: (org) => auditLedger(postgres, org),
  };
}

/** From org to org by the indexes: an org has many counters and holds. */
const ORGS: Statement = {
  name: 'orgs with a ledger',
  text: `
WITH RECURSIVE next AS (
  SELECT least((SELECT min(org) FROM counters WHERE org > $1), (SELECT min(org) FROM money_orgs WHERE org > $1),
    (SELECT min(org) FROM postings WHERE org > $1)) AS org, 1 AS i
  UNION ALL
  SELECT least((SELECT min(org) FROM counters c WHERE c.org > next.org), (SELECT min(org) FROM money_orgs m WHERE m.org > next.org),
    (SELECT min(org) FROM postings p WHERE p.org > next.org)), i + 1
  FROM next WHERE next.org IS NOT NULL AND i < $2::int
)
SELECT org FROM next WHERE org IS NOT NULL`,
};

const LINES: Statement = { name: 'lines of an org', text: `SELECT count(*) FROM lines WHERE org = $1 AND ${OPEN}` };
