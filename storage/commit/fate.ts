/**
 * Asks Postgres what became of a transaction whose COMMIT has no answer. The answer is about that very transaction, by its
 * id: a row that stands at its version may be another process's, written after a takeover.
 */
import type { Session } from './session.js';

/** A transaction whose COMMIT is about to be sent, or was. */
export type Committing = {
  /** `pg_current_xact_id()`, decimal. */
  readonly transaction: string;
} & (
  | {
      /** Version of its first change. */
      readonly first: number;
      /** uid of the object of that change. */
      readonly uid: string;
    }
  /** It has no change, but this row in `ledger_commits`: a UUID of ours. */
  | { readonly ledgerCommit: string }
);

export type Fate =
  | 'Committed'
  | 'NotCommitted'
  /** Postgres has not seen the end of the connection yet, or the commit waits for a disk or a replica. Ask again. */
  | 'UnderWay'
  /** This database has never seen the transaction, or its changes are gone: it was restored, or an older copy took its place. */
  | 'OtherHistory';

/** "transaction ID … is in the future". */
const INVALID_PARAMETER = '22023';

/** Rejects with pg's error when Postgres cannot be asked now. */
export async function askFate(session: Session, committing: Committing): Promise<Fate> {
  const { transaction } = committing;
  // A digit string of Postgres's own, so it may stand in the text.
  const results = await session
    .script(`SELECT pg_xact_status('${transaction}'::xid8); ${witnessOf(committing)}`)
    .catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === INVALID_PARAMETER) return undefined;
      throw error;
    });
  switch (results?.[0]?.rows[0]?.[0]) {
    case 'committed': {
      // The second statement sees what was committed before it. A row may have left the log, and nothing else removes it.
      const [compacted, found] = results[1]?.rows[0] ?? [];
      const known = 'uid' in committing ? committing.uid : committing.ledgerCommit;
      return compacted === true || found === known ? 'Committed' : 'OtherHistory';
    }
    case 'aborted':
      return 'NotCommitted';
    case 'in progress':
      return 'UnderWay';
    default:
      return 'OtherHistory';
  }
}

/** What the transaction left behind: whether it may have been compacted away, and what stands there. */
function witnessOf(committing: Committing): string {
  if ('ledgerCommit' in committing)
    return `SELECT false, (SELECT id::text FROM ledger_commits WHERE id = '${committing.ledgerCommit}')`;
  const { first } = committing;
  return `SELECT floor >= ${first}, (SELECT uid FROM changes WHERE version = ${first}) FROM clock`;
}
