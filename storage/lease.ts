/**
 * The lease: which process may write.
 *
 * Protocol. The row `lease` names the holder, its epoch and until when it holds, by Postgres's clock. A process takes the
 * lease when its time is over, when it was given up, or when the holder has the same id (the same data directory) and
 * its process is certainly dead. Each new holder raises the epoch by one, in the same statement also in the row `clock`,
 * which every commit locks: a commit under way ends first, and the next one of the old holder finds no row (I3). The holder renews at
 * a third of the time, in the row `lease` alone: a slow commit does not hold a renewal up, nor a renewal a commit.
 *
 * How a stale holder finds out. Three ways, each enough: (1) its commits name its epoch and find no row (I3: this alone
 * keeps the store right); (2) its renewal finds no row; (3) by its own monotonic clock the time since the last renewal
 * *began* has passed, so that Postgres may have given the lease away: `held` is false from then on. The time is counted from before the
 * renewal was sent, so it ends here no later than there. A process that was stopped, or whose event loop was, finds itself there and asks once
 * more: when nobody has taken the lease meanwhile, it goes on; nothing was written under another epoch. Without an answer the lease is lost.
 *
 * A renewal without an answer is given up after a third of the time and tried again on a new connection: one connection
 * that the network has forgotten costs no lease, a Postgres that is out of reach does.
 *
 * Not covered: a machine that is suspended may not count the time on its monotonic clock. Ways 1 and 2 still hold.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { isDead, parseHolderProcess, thisProcess, type HolderProcess } from './holder.js';
import type { Postgres } from './postgres.js';
import type { Lease } from './store.js';

export interface LeaseOptions {
  readonly postgres: Postgres;
  /** Id of the data directory. */
  readonly holder: string;
  /** How long it holds without renewal (ms). A standby takes over this much later. Default 5 s. */
  readonly ttl?: number | undefined;
  /** How often a standby looks (ms). Default 500. */
  readonly poll?: number | undefined;
  /** Called once when another process holds it, and again after `onNoAnswer`: this process is a standby. */
  readonly onWaiting?: ((holder: string) => void) | undefined;
  /** Called at each look that failed: Postgres does not answer. */
  readonly onNoAnswer?: (() => void) | undefined;
  readonly monotonic?: (() => number) | undefined;
  readonly isDead?: ((holder: HolderProcess) => boolean) | undefined;
}

/** See `LeaseOptions.ttl`. */
export const TTL = 5_000;
const POLL = 500;
/** Pause after a renewal that got no answer (ms). */
const RETRY = 200;
/** Of the lease's time: between renewals, and for the answer to each. */
const SHARE = 1 / 3;
/** Longest wait for an answer, however long the lease (ms). */
const ANSWER_WITHIN = 5_000;

/** Waits until this process holds the lease. Rejects only when the signal ends the wait. */
export async function acquireLease(options: LeaseOptions, signal: AbortSignal): Promise<Lease> {
  const ttl = options.ttl ?? TTL;
  const poll = options.poll ?? POLL;
  const now = options.monotonic ?? (() => performance.now());
  const dead = options.isDead ?? isDead;
  const connection = leaseConnection(options.postgres, ttl);
  let reported = false;

  for (;;) {
    signal.throwIfAborted();
    try {
      const began = now();
      const seen = await connection.rows<SeenRow>(SEE, []);
      const [epoch, holder, holderProcess, over] = seen[0] ?? [0, null, null, true];
      const previous = parseHolderProcess(holderProcess);
      const mine = holder === options.holder && previous !== undefined && dead(previous);
      if (holder === null || over || mine) {
        if (holder !== null) await connection.rows(DISLODGE, []);
        // Names the epoch that was looked at, so that of two who saw the same only one takes it; and looks again whether
        // the time is over, because the holder may have renewed in between.
        const taken = await connection.rows<[number]>(TAKE, [
          epoch,
          options.holder,
          JSON.stringify(thisProcess()),
          ttl,
          mine,
        ]);
        if (taken[0] !== undefined) {
          const lease = hold(connection, taken[0][0], began, ttl, now);
          if (!signal.aborted) return lease;
          // Nobody waits for it any more.
          await lease.release();
        }
      } else if (!reported) {
        reported = true;
        options.onWaiting?.(holder);
      }
    } catch {
      // Postgres does not answer now; a standby waits for it like for everything else.
      connection.drop();
      reported = false;
      if (!signal.aborted) options.onNoAnswer?.();
    }
    await sleep(poll, undefined, { signal }).catch(() => {});
    if (signal.aborted) await connection.close();
  }
}

type SeenRow = [epoch: number, holder: string | null, process: string | null, over: boolean];

function hold(connection: LeaseConnection, epoch: number, began: number, ttl: number, now: () => number): Lease {
  const lost = new AbortController();
  const stop = new AbortController();
  const late = ttl * SHARE;
  let until = began + ttl;
  /** When it was asked once more, its time being over. */
  let askedLate: number | undefined;
  let deadline: NodeJS.Timeout;

  function lose(why: string): void {
    if (lost.signal.aborted) return;
    clearTimeout(deadline);
    stop.abort();
    lost.abort(new Error(`lease of epoch ${epoch} is lost: ${why}`));
    void connection.close();
  }

  // Its own timer, so that a renewal which hangs cannot outlive the lease.
  function watch(): void {
    clearTimeout(deadline);
    const end = (askedLate ?? until) + late;
    deadline = setTimeout(
      () => {
        if (now() >= (askedLate ?? until) + late) lose('it was not renewed in time');
        else watch();
      },
      Math.max(1, end - now()),
    );
    deadline.unref();
  }

  async function renew(): Promise<void> {
    let pause = ttl * SHARE;
    while (!stop.signal.aborted) {
      await sleep(pause, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      if (stop.signal.aborted) return;
      const start = now();
      if (start >= until) askedLate ??= start;
      try {
        const rows = await connection.rows<[number]>(RENEW, [epoch, ttl]);
        if (rows[0] === undefined) return lose('another process holds it');
        until = start + ttl;
        askedLate = undefined;
        watch();
        // The answer may have waited as long as this process did.
        pause = now() >= until ? 0 : ttl * SHARE;
      } catch {
        connection.drop();
        pause = RETRY;
      }
    }
  }

  watch();
  void renew();

  return {
    epoch,
    ms: ttl,
    lost: lost.signal,
    held: () => !lost.signal.aborted && now() < until,
    async release() {
      if (lost.signal.aborted) return;
      stop.abort();
      clearTimeout(deadline);
      await connection.rows(GIVE_UP, [epoch]).catch(() => {});
      lose('it was given up');
      await connection.close();
    },
  };
}

interface LeaseConnection {
  rows<Row extends unknown[]>(text: string, values: unknown[]): Promise<Row[]>;
  drop(): void;
  close(): Promise<void>;
}

/** One connection of its own: a busy pool must not cost the lease. */
function leaseConnection(postgres: Postgres, ttl: number): LeaseConnection {
  const answerWithin = Math.min(ANSWER_WITHIN, Math.ceil(ttl * SHARE));
  let client: Promise<Client> | undefined;
  const close = async () => {
    const closed = client;
    client = undefined;
    await closed?.then((c) => c.end()).catch(() => {});
  };
  return {
    async rows<Row extends unknown[]>(text: string, values: unknown[]) {
      client ??= postgres.connect('lease', { statement_timeout: `${answerWithin}ms` }, { answerWithin });
      const result = await (await client).query<Row>({ text, values, rowMode: 'array' });
      return result.rows;
    },
    drop: () => void close(),
    close,
  };
}

/** A program from before the table `lease` holds it, and renews it in the clock row. The time that ours writes there does not end. */
const HELD_IN_CLOCK = `(clock.holder IS NOT NULL AND clock.lease_expires <> 'infinity')`;

const SEE = `
SELECT clock.epoch, CASE WHEN ${HELD_IN_CLOCK} THEN clock.holder ELSE lease.holder END,
       CASE WHEN ${HELD_IN_CLOCK} THEN clock.holder_process ELSE lease.holder_process END,
       CASE WHEN ${HELD_IN_CLOCK} THEN clock.lease_expires ELSE lease.expires END <= now() FROM clock, lease`;

/**
 * Precondition: the holder's time is over, or its process is dead. Result: a transaction in which it was stopped ends now and
 * lets go of the clock row. A holder that has the lease after all loses a connection and tries again.
 */
const DISLODGE = `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'troupe commit' AND datname = current_database() AND usename = current_user`;

/**
 * Precondition: the lease was free or its holder dead when epoch $1 was seen. Result: it is ours at the next epoch; or no row.
 * A program from before the table `lease` looks into the clock row, and sees there a holder whose time does not end.
 */
const TAKE = `
WITH taken AS (
  UPDATE lease SET epoch = $1::bigint + 1, holder = $2::text, holder_process = $3,
                   expires = clock_timestamp() + $4::float8 * interval '1 millisecond'
  WHERE epoch <= $1 AND ($5::boolean OR (
    (holder IS NULL OR expires <= now())
    AND NOT EXISTS (SELECT FROM clock WHERE ${HELD_IN_CLOCK} AND clock.lease_expires > now())
  )) RETURNING epoch
)
UPDATE clock SET epoch = taken.epoch, holder = $2::text, holder_process = NULL, lease_expires = 'infinity'
FROM taken WHERE clock.epoch = $1 RETURNING clock.epoch`;

/** Precondition: none. Result: the lease of this epoch lasts from now; or no row, when another epoch holds it. */
const RENEW = `
UPDATE lease SET expires = clock_timestamp() + $2::float8 * interval '1 millisecond'
WHERE epoch = $1 AND EXISTS (SELECT FROM clock WHERE clock.epoch = $1) RETURNING epoch`;

/** Precondition: none. Result: when this epoch still holds it, the lease is free. */
const GIVE_UP = `UPDATE lease SET holder = NULL, holder_process = NULL, expires = '-infinity' WHERE epoch = $1`;
