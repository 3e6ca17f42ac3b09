/**
 * Asks Postgres what became of a transaction whose COMMIT has no answer. The answer is about that very transaction, by its
 * id: a row that stands at its version may be another process's, written after a takeover.
 */
import type { Session } from './session.js';

/** A transaction whose COMMIT is about to be sent, or was. */
export interface Committing {
  /** `pg_current_xact_id()`, decimal. */
  readonly transaction: string;
  /** Version of its first change. */
  readonly first: number;
  /** uid of the object of that change. */
  readonly uid: string;
}

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
export async function askFate(session: Session, { transaction, first, uid }: Committing): Promise<Fate> {
  // A digit string of Postgres's own, so it may stand in the text.
  const results = await session
    .script(
      `SELECT pg_xact_status('${transaction}'::xid8);
       SELECT floor >= ${first}, (SELECT uid FROM changes WHERE version = ${first}) FROM clock`,
    )
    .catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === INVALID_PARAMETER) return undefined;
      throw error;
    });
  switch (results?.[0]?.rows[0]?.[0]) {
    case 'committed': {
      // The second statement sees what was committed before it. A row may have left the log, and nothing else removes it.
      const [compacted, found] = results[1]?.rows[0] ?? [];
      return compacted === true || found === uid ? 'Committed' : 'OtherHistory';
    }
    case 'aborted':
      return 'NotCommitted';
    case 'in progress':
      return 'UnderWay';
    default:
      return 'OtherHistory';
  }
}
