/**
 * One connection for commits: made when it is first needed, thrown away when it fails. Its statements end in bounded time,
 * by Postgres's clock and by ours.
 */
import type { Client } from 'pg';
import type { Postgres } from '../postgres.js';
import { sessionOn, type Session } from './session.js';

/**
 * A stopped process must not keep the clock row locked: Postgres ends its transaction after this long, well within the
 * time that a standby waits for.
 */
const IDLE_IN_TRANSACTION = '3s';
/** Longest a statement runs (ms), with a lease of the usual length: a slow one must not take the time of the next holder. */
const LONGEST_STATEMENT = 2_000;
/** Of the lease's time. */
const SHARE_OF_LEASE = 0.4;
/** Of the statement's time: a wait for a lock ends before it, so that the two can be told apart. */
const SHARE_OF_STATEMENT = 0.75;
/** A transaction's statements are sent together, and its last answer is awaited for so many times one statement's limit. */
const STATEMENTS_TOGETHER = 3;

const SETTINGS = {
  synchronous_commit: 'on',
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION,
  // Every join here is from a few given rows into a primary key. Plans are made once, perhaps while the tables are
  // still empty, so the other ways are ruled out instead of left to statistics.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

export interface CommitConnection {
  /** The connection; rejects with pg's error when it cannot be made now. */
  session(): Promise<Session>;
  /** Makes the connection fit for the next transaction after a failed statement. */
  rollBack(): Promise<void>;
  /** The connection is not to be used again. */
  drop(): void;
  close(): Promise<void>;
}

/** `leaseMs`: the time of the lease that these commits are made under. */
export function openCommitConnection(postgres: Postgres, leaseMs: number): CommitConnection {
  const statement = Math.min(LONGEST_STATEMENT, leaseMs * SHARE_OF_LEASE);
  const settings = {
    ...SETTINGS,
    statement_timeout: `${Math.round(statement)}ms`,
    lock_timeout: `${Math.round(statement * SHARE_OF_STATEMENT)}ms`,
  };
  const how = { pipeline: true, answerWithin: statement * STATEMENTS_TOGETHER };
  let current: { readonly client: Client; readonly session: Session } | undefined;
  let closed = false;
  const drop = () => {
    const dropped = current;
    current = undefined;
    dropped?.client.end().catch(() => {});
  };
  return {
    async session() {
      if (current === undefined) {
        if (closed) throw new Error('closed');
        const client = await postgres.connect('commit', settings, how);
        if (closed) {
          void client.end();
          throw new Error('closed');
        }
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
      closed = true;
      const last = current;
      current = undefined;
      await last?.client.end().catch(() => {});
    },
  };
}
