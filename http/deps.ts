/**
 * What HTTP needs from the other rooms beyond `actors/resource-service.ts`: narrow interfaces, wired in `src/app`. Every function
 * that touches the data of a tenant takes its org first (I12).
 */
import type { Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { SlotRow } from '../src/kinds/machine.js';
import type { LogLine, LogPace } from '../src/engines/compute/contract/engine.js';
import type { ResourceService } from '../actors/resource-service.js';
import type { InferenceService } from '../actors/inference/service.js';
import type { Commands } from '../actors/work/commands.js';
import type { Files } from '../actors/work/files/open.js';
import type { Payments } from '../actors/payments/service.js';
import type { CreatedOrg, RecoveredOrg } from '../actors/orgs.js';
import type { Promotions } from '../actors/payments/promo-codes.js';
import type { LogRequest } from '../actors/work/logs.js';
import type { Blobs } from '../storage/blobs/blobs.js';
import type { Keyed } from '../storage/commit/request.js';
import type { EventPage, EventQuery } from '../storage/events.js';
import type { LedgerMonths } from '../storage/ledger/months.js';
import type { LedgerReads } from '../storage/ledger/reads.js';
import type { LedgerSpend } from '../storage/ledger/spend.js';
import type { Credentials } from '../storage/store.js';
import type { ConnectionBounds } from './connections.js';
import type { DeliveryEntry } from '../storage/webhooks/log.js';
import type { Registry } from 'prom-client';

/** May this process answer, if not, why, and how far behind its work is (I13: by work done). */
export interface Health {
  /** Synchronous and free: true while this process holds the lease and has loaded what it serves. */
  active(): boolean;
  /**
   * What has been waiting for longer than it should, for people to read. Nothing is decided by it: one customer's work can be
   * behind, and neither an end of this process nor sending requests elsewhere would help that.
   */
  behind(): readonly string[];
  /** What is missing for `/readyz`; empty when ready. Never slow: figures that others keep up to date. */
  missing(): readonly string[];
  /** Facts shown by `/readyz?verbose` (engine, isolation, limits that are enforced). */
  facts(): Readonly<Record<string, unknown>>;
}

export interface Logs {
  /**
   * Lines of a Job's index or of an Attempt, until the end (or for ever while following).
   * Undefined: there is no such index or epoch (yet).
   */
  open(
    owner: Address,
    uid: string,
    request: LogRequest,
    signal: AbortSignal,
    pace?: LogPace,
  ): Promise<AsyncIterable<LogLine> | undefined>;
}

export interface OutputEntry {
  readonly name: string;
  readonly index: number;
  readonly size: number;
  readonly sha256: string;
  /** It was a directory: the bytes are its tar.zst. */
  readonly directory?: boolean | undefined;
  /** RFC 3339. */
  readonly time?: string | undefined;
  readonly error?: string | undefined;
}

export interface Outputs {
  /** The collected outputs of a Job, or of one index of it, in (index, name) order. */
  list(
    owner: Address,
    uid: string,
    index: number | undefined,
    signal: AbortSignal,
  ): AsyncIterable<readonly OutputEntry[]>;
  find(owner: Address, uid: string, name: string, index: number, signal: AbortSignal): Promise<OutputEntry | undefined>;
}

/** Rows of stored side state, a page at a time. */
export interface Slots {
  /** Those from the index `first` on, by index, at most `limit`. */
  from(org: string, uid: string, first: number, limit: number): Promise<readonly SlotRow[]>;
}

export interface Deliveries {
  /** Behind `after` (an id), newest first. `endpoint` is a uid. */
  list(org: string, endpoint: string, after: string | undefined, limit: number): Promise<readonly DeliveryEntry[]>;
  /** The same body under a new id. Undefined: there is no such delivery. */
  replay(
    org: string,
    endpoint: string,
    id: string,
    keyed: Keyed | undefined,
  ): Promise<{ readonly entry: DeliveryEntry; readonly replayed: boolean } | undefined>;
}

/** The auditor of the ledger, as operators see it. */
export interface LedgerAudits {
  /** Plain JSON. */
  state(): {
    readonly running: boolean;
    readonly lastPass?: Readonly<Record<string, unknown>>;
    readonly findings: readonly Readonly<Record<string, unknown>>[];
  };
  /** A pass begins now, or after the one that is under way. */
  request(): void;
}

/** What `/ops/v1` can see and do. Values are plain JSON and hold no tenant secrets. */
export interface Operators {
  supervisors(kind?: string): Promise<unknown>;
  /** One page of the parked objects of a kind; undefined when there is no such kind. */
  parked(
    kind: string,
    limit: number,
    after?: string,
  ): Promise<{ readonly items: readonly unknown[]; readonly next: string | undefined } | undefined>;
  restartSupervisor(kind: string): Promise<boolean>;
  actor(uid: string): Promise<unknown>;
  restartActor(uid: string): Promise<boolean>;
  admissions(paused?: boolean): Promise<{ readonly paused: boolean }>;
  readonly ledger: LedgerAudits;
  orgs(): Promise<readonly { readonly org: string; readonly name: string; readonly creationTimestamp: string }[]>;
  /** One more Owner key of the org of this name, which is shown this once. */
  recoverOrg(name: string, keyed: Keyed | undefined): Promise<RecoveredOrg>;
  /** Makes the org with its Owner's key, which is shown this once. `taken` when the name is in use. */
  createOrg(name: string, keyed: Keyed | undefined): Promise<CreatedOrg>;
}

export interface Events {
  /** Oldest first. `next` is the cursor after the last item; set whenever there are items. */
  list(org: string, query: EventQuery, signal: AbortSignal): Promise<EventPage>;
}

/** Only what is written: pino fits it. Nothing on the hot path logs a line per request. */
export interface HttpLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface HttpConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: no TLS. */
  readonly tls?: { readonly port: number; readonly key: string | Buffer; readonly cert: string | Buffer } | undefined;
  readonly group: string;
  /** `v0.1.0`: shown by /version. */
  readonly productVersion: string;
  /** Origin at which people elsewhere reach the service; undefined: as each request came. */
  readonly publicUrl?: string | undefined;
  /** Below it the tools of each Workspace have an origin of their own; undefined: they share this one. */
  readonly toolDomain?: string | undefined;
  /** Whether `/metrics` needs no key. */
  readonly metricsOpen: boolean;
  /** A line for each answered request. */
  readonly accessLog: boolean;
  readonly limits: {
    /** Largest request body, bytes. */
    readonly bodyBytes: number;
    /** A request that is not a stream is answered within this, or 503. */
    readonly requestSeconds: number;
    /** Requests worked on at once, streams apart, in all, of one org and of one credential; one more is 429. */
    readonly inFlight: { readonly all: number; readonly org: number; readonly key: number };
    /** Bodies held in memory at once, bytes; one org may hold half of it; more are 429. */
    readonly bodyMemoryBytes: number;
    /** Watches, followed logs and transfers open at once; one more is 429. */
    readonly streams: number;
    /** Of them, those of one credential. */
    readonly streamsPerKey: number;
    /** Held in memory for watches, bytes; one org may hold half of it; as `watch/waiting.ts` has it when absent. */
    readonly watchBytes?: number | undefined;
    /** Held for answers that come as a whole, bytes; one org leaves as much as it holds; as `answer-memory.ts` has it when absent. */
    readonly answerBytes?: number | undefined;
    /** Requests a second, of one credential, of one org, and without a known one of one client address; more are 429. */
    readonly rates: { readonly key: number; readonly org: number; readonly address: number };
    /** Connections in all, and of one address on which no known key has been seen; absent: as `connections.ts` has it. */
    readonly connections?: ConnectionBounds | undefined;
    /** How long a drain waits for requests under way. */
    readonly drainSeconds: number;
    /** How often a quiet watch with allowWatchBookmarks is told the version reached; 60 as in Kubernetes when absent. */
    readonly bookmarkSeconds?: number | undefined;
    /** A client that takes nothing of an answer for so long is cut; 30 when absent. */
    readonly stalledSeconds?: number | undefined;
  };
}

export interface HttpDeps {
  readonly config: HttpConfig;
  readonly resources: ResourceService;
  readonly inference: InferenceService;
  readonly kinds: readonly KindDefinition[];
  readonly credentials: Credentials;
  /** A credential was used; told at most once per credential in 15 s. */
  readonly onCredentialUse?: ((address: Address, uid: string) => void) | undefined;
  /** A tool of a Workspace was asked for at this epoch: what is installed there may have changed. */
  readonly onToolLink?: ((uid: string, epoch: number) => void) | undefined;
  readonly health: Health;
  readonly logs: Logs;
  readonly commands: Commands;
  readonly files: Files;
  readonly outputs: Outputs;
  readonly slots: Slots;
  readonly deliveries: Deliveries;
  readonly blobs: Pick<Blobs, 'put' | 'head' | 'get'>;
  readonly operators: Operators;
  readonly payments: Payments;
  /** Promo codes. */
  readonly promotions: Promotions;
  readonly events: Events;
  /** Of an org's money. */
  readonly ledger: Pick<LedgerReads, 'wallet' | 'entries'> & {
    readonly months: LedgerMonths;
    readonly spend: LedgerSpend;
  };
  readonly log: HttpLog;
  readonly metrics: Registry;
  /** ms since the epoch, for ages, expiry and watch timers. */
  readonly clock: () => number;
  /** Seals visits to tools (`tools/browser-sessions.ts`); the same after a restart. */
  readonly browserSessionKey: Uint8Array;
  /** Names of generateName, cursors, links, jitter. */
  readonly randomBytes: (length: number) => Uint8Array;
}
