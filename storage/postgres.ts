/**
 * The connections to Postgres: a bounded pool for reads, and single connections for parts that need one of their own
 * (commit, lease, migrations). Sets what holds for every session: each statement has a limit in Postgres, and a little over it
 * here, for an answer that never comes. Holds no statement itself.
 */
import { escapeLiteral, types as pgTypes, type Client, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { unavailable } from './errors.js';
import { CONNECT_WITHIN, ErrorSafeClient, ErrorSafePool, PROBED_BY_SERVER } from './error-safe-client.js';

/** Most connections for reads. More only queue inside Postgres on a small machine. */
const READERS = 8;
/** Longest wait for a free reader before the read fails with Unavailable (ms). */
const READER_WAIT = 5_000;
/** Longest a read may run (ms). */
const READ_TIMEOUT = 30_000;
/** More than a statement's own limit, so that Postgres speaks first (ms). */
const ON_THE_WAY = 3_000;
/** Longest time between two statements of one transaction of a reader (ms); a vanished process's locks end with it. */
const IDLE_IN_TRANSACTION = 60_000;

/**
 * Every read here walks an index in its order, a page at a time. Plans made while the tables were small, or without
 * statistics, would sort or scan whole tables later: a page took seconds. So the other ways are ruled out.
 */
const READ_SETTINGS = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
  .map((way) => `SET enable_${way} = off`)
  .concat('SET jit = off', PROBED_BY_SERVER)
  .join('; ');

/** int8 arrives as a number: versions and counts stay far below 2^53. All else as pg does it. */
const INT8: number = pgTypes.builtins.INT8;
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === INT8 ? Number : pgTypes.getTypeParser(oid, format);
  },
};

/** A statement with a name: prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface ConnectionOptions {
  /** A statement does not wait for the answer to the one before it. */
  readonly pipeline?: boolean | undefined;
  /** Longest wait for the connection, and for each answer from the moment it was asked for (ms). */
  readonly answerWithin?: number | undefined;
}

export interface Postgres {
  /** For rows of storage that need a client of their own for a moment (blobs). Not for objects. */
  readonly pool: Pool;
  /** Runs one reading statement on the pool. Rejects with a `RefusalError` Unavailable when Postgres does not answer. */
  read<Row extends QueryResultRow>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** Rows as arrays, for many small rows: a third of the cost of objects. */
  readRows<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs one statement on what lies beside the objects (housekeeping, never objects: I1) and answers how many rows it
   * touched. May be lost in a crash of Postgres: the caller can do it again.
   */
  write(statement: Statement, values?: readonly unknown[]): Promise<number>;
  /** A connection of one's own. Rejects with pg's error. The caller ends it. */
  connect(purpose: string, session?: SessionSettings, how?: ConnectionOptions): Promise<Client>;
  close(): Promise<void>;
}

/** `SET` for one session. Values are ours, never a client's. */
export type SessionSettings = Readonly<Record<string, string>>;

export function openPostgres(options: { readonly url: string; readonly readers?: number | undefined }): Postgres {
  const pool = new ErrorSafePool({
    connectionString: options.url,
    max: options.readers ?? READERS,
    connectionTimeoutMillis: READER_WAIT,
    idleTimeoutMillis: 30_000,
    statement_timeout: READ_TIMEOUT,
    query_timeout: READ_TIMEOUT + ON_THE_WAY,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION,
    application_name: 'troupe reads',
    types,
    // Before a new connection is first used.
    verify: (client, done) => void prepareReader(client, done),
  });

  return {
    pool,

    async read<Row extends QueryResultRow>(statement: Statement, values: readonly unknown[] = []) {
      try {
        const result = await pool.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
        return result.rows;
      } catch (error) {
        throw unavailable(error);
      }
    },

    async readRows<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []) {
      try {
        const result = await pool.query<Row>({
          name: statement.name,
          text: statement.text,
          values: [...values],
          rowMode: 'array',
        });
        return result.rows;
      } catch (error) {
        throw unavailable(error);
      }
    },

    async write(statement, values = []) {
      try {
        const result = await pool.query({ name: statement.name, text: statement.text, values: [...values] });
        return result.rowCount ?? 0;
      } catch (error) {
        throw unavailable(error);
      }
    },

    async connect(purpose, session = {}, { pipeline = false, answerWithin } = {}) {
      // The next statement on a dead connection fails, and that is where its caller finds out.
      const client = new ErrorSafeClient({
        connectionString: options.url,
        connectionTimeoutMillis: Math.min(CONNECT_WITHIN, answerWithin ?? CONNECT_WITHIN),
        ...(answerWithin === undefined ? {} : { query_timeout: answerWithin }),
        application_name: `troupe ${purpose}`,
        types,
        pipeline,
      });
      await client.connect();
      const settings = Object.entries(session).map(([name, value]) => `SET ${name} = ${escapeLiteral(value)}`);
      try {
        await client.query([PROBED_BY_SERVER, ...settings].join('; '));
      } catch (error) {
        await client.end().catch(() => {});
        throw error;
      }
      return client;
    },

    close: () => pool.end(),
  };
}

async function prepareReader(client: PoolClient, done: (error?: Error) => void): Promise<void> {
  try {
    await client.query(READ_SETTINGS);
  } catch (error) {
    done(error instanceof Error ? error : new Error('the session could not be prepared'));
    return;
  }
  done();
}
