/** Which CreditGrants have less, or more, left than their status shows. Whole store, for the process that holds the lease. */
import type { Postgres, Statement } from '../postgres.js';

export interface ChangedCredit {
  readonly org: string;
  readonly uid: string;
  /** Of the CreditGrant. */
  readonly name: string;
  readonly remainingUSD: string;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface CreditRows {
  /** Those behind `after`, by org and uid, at most `limit`. */
  changedCredits(after: Pick<ChangedCredit, 'org' | 'uid'>, limit: number): Promise<readonly ChangedCredit[]>;
  /** Their status says this now. One that is being written meanwhile is left as it is. */
  creditsShown(credits: readonly ChangedCredit[]): Promise<void>;
}

export function openCreditRows(postgres: Postgres): CreditRows {
  return {
    async changedCredits({ org, uid }, limit) {
      const rows = await postgres.readRows<[string, string, string, string]>(CHANGED, [org, uid, limit]);
      return rows.map(([of, grant, name, remainingUSD]) => ({ org: of, uid: grant, name, remainingUSD }));
    },
    async creditsShown(credits) {
      if (credits.length > 0) await postgres.write(SHOWN, [JSON.stringify(credits)]);
    },
  };
}

/** A grant without a name is of no object. */
const CHANGED: Statement = {
  name: 'changed credits',
  text: `
SELECT org, uid, name, remaining_usd::text FROM grants
WHERE remaining_usd <> shown_usd AND name IS NOT NULL AND (org, uid) > ($1, $2)
ORDER BY org, uid LIMIT $3`,
};

/** Precondition: none. Result: these are not read again before they change. It waits for no row, since a commit would wait for it in turn. */
const SHOWN: Statement = {
  name: 'credits shown',
  text: `
UPDATE grants g SET shown_usd = f.seen FROM (
  SELECT g.org, g.uid, c."remainingUSD" AS seen
  FROM json_to_recordset($1::json) AS c(org text, uid text, "remainingUSD" numeric)
  JOIN grants g ON (g.org, g.uid) = (c.org, c.uid)
  FOR NO KEY UPDATE OF g SKIP LOCKED
) f WHERE (g.org, g.uid) = (f.org, f.uid)`,
};
