/**
 * Owns one connection for commits: made when it is first needed, thrown away when it fails, made again with a growing
 * pause. Also answers whether a transaction whose COMMIT was under way when the connection broke took effect.
 */
import type { Client } from 'pg';
import type { Postgres } from '../postgres.js';
import { sessionOn, type Session } from './session.js';

/**
 * A stopped process must not keep the clock row locked: Postgres ends its transaction after this long, well within the
 * time that a standby waits for.
 */
const IDLE_IN_TRANSACTION = '3s';
/** Longest a statement runs, waiting for the clock row included. */
const STATEMENT = '8s';

const SETTINGS = {
  synchronous_commit: 'on',
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION,
  statement_timeout: STATEMENT,
  // Every join here is from a few given rows into a primary key. Plans are made once, perhaps while the tables are
  // still empty, so the other ways are ruled out instead of left to statistics.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

export interface Lane {
  /** The connection; rejects with pg's error when it cannot be made now. */
  session(): Promise<Session>;
  /** Makes the connection fit for the next transaction after a failed statement. */
  rollBack(): Promise<void>;
  /** The connection is not to be used again. */
  drop(): void;
  close(): Promise<void>;
}

export function openLane(postgres: Postgres): Lane {
  let current: { readonly client: Client; readonly session: Session } | undefined;
  const drop = () => {
    const dropped = current;
    current = undefined;
    dropped?.client.end().catch(() => {});
  };
  return {
    async session() {
      if (current === undefined) {
        const client = await postgres.connect('commit', SETTINGS, { pipeline: true });
        current = { client, session: sessionOn(client) };
      }
      return current.session;
    },
    async rollBack() {
      try {
        await current?.client.query('ROLLBACK');
      } catch {
        drop();
      }
    },
    drop,
    async close() {
      const closed = current;
      current = undefined;
      await closed?.client.end().catch(() => {});
    },
  };
}

/**
 * Precondition: a COMMIT for `version` of the object `uid` was sent on a connection that is gone. That transaction held
 * the clock row when it was sent, so with the row locked here it has ended, one way or the other.
 * Result: true when it committed. Rejects with pg's error when Postgres cannot be asked now.
 */
export async function hasCommitted(session: Session, version: number, uid: string): Promise<boolean> {
  await session.script('BEGIN; SELECT version FROM clock FOR UPDATE');
  const rows = await session.rows<[string]>('committed', () => 'SELECT uid FROM changes WHERE version = $1', [version]);
  await session.script('ROLLBACK');
  return rows[0]?.[0] === uid;
}
