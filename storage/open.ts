/**
 * Opens storage: connects, checks that this program fits the database, and hands out its parts. Taking the
 * lease and opening the committer are separate steps, because a standby reads and waits before it may write.
 */
import { checkFormats, claimFormats } from './format-versions.js';
import { openChangesLog, DEFAULT_COMPACTION, type CompactionSettings } from './changes.js';
import { openClock } from './clock.js';
import { openCommitter, type CommitterOptions } from './commit/committer.js';
import type { Committer } from './commit/request.js';
import type { SealResponse } from './commit/idempotency-keys.js';
import { openCredentials } from './credentials.js';
import { acquireLease, type LeaseOptions } from './lease.js';
import { migrate } from './migrate.js';
import { openObjects } from './objects.js';
import { openPending } from './pending.js';
import { openPostgres, type Postgres } from './postgres.js';
import { openResponses, type OpenResponse, type StoredResponses } from './responses.js';
import { fetchSealed } from './sealed-secrets.js';
import type { ChangesLog, Clock, Credentials, Lease, Objects, Pending } from './store.js';

export interface StoreOptions {
  readonly url: string;
  /** Seals and opens idempotency responses; `parts` say what they belong to. */
  readonly seal: SealResponse;
  readonly open: OpenResponse;
  readonly compaction?: CompactionSettings | undefined;
  /** Connections for reads. */
  readonly readers?: number | undefined;
}

export interface Store {
  readonly postgres: Postgres;
  /** Identity of this database, made once. */
  readonly clusterId: string;
  readonly clock: Clock;
  readonly objects: Objects;
  readonly changes: ChangesLog;
  readonly pending: Pending;
  readonly credentials: Credentials;
  readonly responses: StoredResponses;
  /** For `openSecretVersions` of the envelope. */
  readonly fetchSealed: (org: string, uid: string, version: number) => Promise<Buffer | undefined>;
  /**
   * Waits for the lease, and brings the database to the shape and formats of this program once it is held. Rejects when
   * the signal ends the wait, with `DatabaseNewerError` when a newer program was active meanwhile, and when Postgres fails
   * while the shape is changed; then the lease is given up.
   */
  acquire(options: Omit<LeaseOptions, 'postgres'>, signal: AbortSignal): Promise<Lease>;
  /** Once per lease. `head` is the version of the newest commit before it. */
  openCommitter(
    options: Omit<CommitterOptions, 'postgres' | 'seal' | 'epoch' | 'leaseMs'> & { readonly lease: Lease },
  ): Promise<Committer & { readonly head: number }>;
  /** After the committer is closed. */
  close(): Promise<void>;
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const postgres = openPostgres({ url: options.url, readers: options.readers });
  try {
    await migrate(postgres, { scope: 'BeforeLease' });
    await checkFormats(postgres);
    const clock = await openClock(postgres);
    const pending = openPending(postgres);
    const [row] = await postgres.readRows<[string]>({ name: 'cluster', text: 'SELECT cluster_id FROM clock' });
    return {
      postgres,
      clusterId: row?.[0] ?? '',
      clock: clock.now,
      objects: openObjects(postgres),
      changes: openChangesLog(postgres, options.compaction ?? DEFAULT_COMPACTION),
      pending,
      credentials: openCredentials(postgres),
      responses: openResponses(postgres, options.open),
      fetchSealed: fetchSealed(postgres),
      async acquire(how, signal) {
        const lease = await acquireLease({ ...how, postgres }, signal);
        try {
          // Now, and not only at the start: a newer program may have been the active one since.
          await migrate(postgres);
          await claimFormats(postgres);
          return lease;
        } catch (error) {
          await lease.release();
          throw error;
        }
      },
      openCommitter: ({ lease, ...rest }) =>
        openCommitter({ ...rest, postgres, seal: options.seal, epoch: lease.epoch, leaseMs: lease.ms }),
      async close() {
        clock.close();
        await pending.close();
        await postgres.close();
      },
    };
  } catch (error) {
    await postgres.close();
    throw error;
  }
}
