/** What the leader is opened with, and what it is to its process. */
import type { HttpDeps } from '../../http/deps.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { MasterKeys } from '../../storage/envelope/master-key.js';
import type { Store } from '../../storage/open.js';
import type { Lease, SecretVersions } from '../../storage/store.js';
import type { Address } from '../api/address.js';
import type { Config } from '../config.js';
import type { ComputeEngine, EngineFacts } from '../engines/compute/contract/engine.js';
import type { PublicEndpoints } from '../kinds/machine.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

export interface LeaderDeps {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly store: Store;
  readonly lease: Lease;
  readonly secrets: SecretVersions;
  readonly keys: MasterKeys;
  readonly blobs: Blobs;
  readonly engine: ComputeEngine | undefined;
  /** Logs of work that was made before this time (ms) may lie elsewhere (`claimDeployment`). */
  readonly logsSince: number;
  readonly metrics: Metrics;
  readonly endpoints: PublicEndpoints;
  /** `readWebhookCa`'s. */
  readonly webhookCa: readonly string[] | undefined;
  readonly log: Log;
  onChange(change: CommittedChange): void;
}

/** What only the leader can serve. */
export type LeaderParts = Pick<
  HttpDeps,
  'resources' | 'inference' | 'commands' | 'files' | 'logs' | 'deliveries' | 'operators' | 'payments' | 'promotions'
>;

/** The leader: what it serves, and what the process asks of it. */
export interface Leader extends LeaderParts {
  /** The lease certainly holds at this moment. */
  holdsLease(): boolean;
  /** What has been waiting for too long, for people to read. */
  behind(): readonly string[];
  /** The engine's newest facts; undefined before its first answer or without compute. */
  engineFacts(): EngineFacts | undefined;
  /** A credential was used: its object notes the time. */
  onCredentialUse(address: Address, uid: string): void;
  /** An org has all the bytes of blobs that it may have. */
  onStorageFull(org: string, quotaBytes: number): void;
  /** A tool of a Workspace was asked for. */
  onToolLink(uid: string, epoch: number): void;
  /** One more Owner key of the bootstrap org. */
  newOwnerKey(): Promise<string>;
  close(): Promise<void>;
}
