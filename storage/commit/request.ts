/**
 * What one object asks to have written in one commit, and what it is answered. Many commits share one transaction (group
 * commit); a refused one never fails its neighbours.
 */
import type { Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import type { HoldRefusal, MoneyOperation, OperationResult } from '../../src/money/operation.js';

/**
 * What happens to the object's row. `body` is the object's encoded JSON with a hole for the version (`src/api/encode.ts`):
 * the very Buffer that later serves cache, answer and watch.
 */
export type ObjectWrite =
  | { readonly op: 'insert'; readonly body: Buffer }
  /** `expected` is the version that this write replaces (I3). */
  | { readonly op: 'update'; readonly body: Buffer; readonly expected: number }
  | { readonly op: 'delete'; readonly body: Buffer; readonly expected: number };

export interface EventRow {
  readonly event: string;
  readonly reason: string;
  readonly message: string;
  /** `status.phase` and what else a webhook shows, as JSON text. */
  readonly status: string;
}

export type TimerWrite =
  | { readonly op: 'arm'; readonly timer: string; readonly generation: number; readonly at: number }
  /** Removes the named timer when its generation is at most this one. */
  | { readonly op: 'clear'; readonly timer: string; readonly generation: number };

export interface IdempotencyWrite {
  /** Who used the key: the caller's credential (`Caller.holder`). */
  readonly holder: string;
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string;
  readonly status: number;
  /**
   * Body of the answer, its version hole blank; sealed with the master key before it is stored. Undefined: the object as
   * this very commit leaves it, which the changes log holds already.
   */
  readonly response?: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer that no commit stands behind, so it has to be stored whole. */
export type KeptAnswer = IdempotencyWrite & { readonly response: Buffer };

/** What names a request under an Idempotency-Key, which may be sent again. */
export type Keyed = Pick<KeptAnswer, 'holder' | 'key' | 'fingerprint'>;

export interface CommitRequest {
  readonly address: Address;
  readonly uid: string;
  readonly write: ObjectWrite;
  /** Machine's private state as JSON text; null for none. Ignored by a delete. */
  readonly private: string | null;
  /**
   * Something of the object is under way, so its actor is activated at the next start (a column with a partial index,
   * read by `Pending.unfinished`). False for kinds without a life of their own and for terminal objects.
   */
  readonly active: boolean;
  /** uids of the owners; rows for garbage collection. Given with every insert, and with an update that changes them. */
  readonly owners?: readonly string[] | undefined;
  /** Digests of all blobs that the object keeps alive from now on. Absent: as before. Its deletion lets all of them go. */
  readonly blobs?: readonly string[] | undefined;
  /** Stored as one row with this commit's version (I5); empty: no row. */
  readonly effects: readonly LaterEffect[];
  readonly events: readonly EventRow[];
  readonly timers: readonly TimerWrite[];
  readonly slots: readonly SlotRow[];
  readonly secrets: readonly { readonly version: number; readonly sealed: Buffer }[];
  readonly dropSecretsBelow?: number | undefined;
  readonly credentials: readonly {
    readonly sha256: string;
    readonly expires?: number | undefined;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];
  readonly revokeCredentials: boolean;
  /** Carried out in this order, all of them or none: the commit is refused with the first that is. */
  readonly money: readonly MoneyOperation[];
  readonly idempotency?: IdempotencyWrite | undefined;
}

/** How long the hold of this object lasts. */
export type FundedHold =
  /** `limited`: something limits what may be spent on it. Its time begins with its billing. */
  | { readonly state: 'Placed'; readonly limited: boolean }
  /** `until`: ms on Postgres's clock; undefined: nothing limits what may be spent on it. */
  | { readonly state: 'Billed'; readonly until: number | undefined };

export type CommitResult =
  /** `funded`: of the hold that its last operation was about. */
  | { readonly outcome: 'Committed'; readonly version: number; readonly funded?: FundedHold | undefined }
  /** The object is not at the expected version, or gone: reload. */
  | { readonly outcome: 'Stale' }
  | { readonly outcome: 'AlreadyExists' }
  /** The Idempotency-Key is taken: read its stored response. */
  | { readonly outcome: 'KeyUsed' }
  | ({ readonly outcome: 'HoldRefused' } & HoldRefusal)
  /** A hold or a grant stands under a key that this commit wanted to take. */
  | { readonly outcome: 'DuplicateKey'; readonly key: string }
  /** The org holds as many objects as it may. */
  | { readonly outcome: 'QuotaExceeded'; readonly limit: number }
  | CommitFailure;

/** Why a commit, or operations of the ledger, were not carried out, or nobody knows. */
export type CommitFailure =
  /** This process may not write to the database: another holds the lease, or it is an older copy. Not written. */
  | { readonly outcome: 'Fenced' }
  /** Storage could not be reached within the bound; certainly not written. */
  | { readonly outcome: 'Unavailable'; readonly message: string }
  /** COMMIT was sent, and Postgres could not be asked what became of it: written or not. */
  | { readonly outcome: 'Unknown'; readonly message: string };

/** What became of operations without an object: one result each, a refused one among them. */
export type LedgerResult =
  | { readonly outcome: 'Committed'; readonly results: readonly OperationResult[] }
  | CommitFailure;

/** What became of an answer that no commit stands behind. */
export type KeepResult =
  | { readonly outcome: 'Kept' }
  | { readonly outcome: 'KeyUsed' }
  | { readonly outcome: 'Fenced' };

/** One committed change, published in version order. */
export interface CommittedChange {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly address: Address;
  readonly uid: string;
  /** Stamped bytes of the object before; undefined for ADDED. */
  readonly before: Buffer | undefined;
  /** Stamped bytes after; for DELETED the last state with the deletion's version. */
  readonly after: Buffer;
}

/** The one way to write (I1). Created by `openCommitter`; only actors call it. */
export interface Committer {
  /** Resolves when the commit's fate is durable and known (I2), or can no longer be known. Never rejects. `before` is the replaced bytes, for publishing. */
  commit(request: CommitRequest, before: Buffer | undefined): Promise<CommitResult>;
  /**
   * Keeps the answer of a write that changed nothing under its Idempotency-Key; `version` is the object's. Rejects with a
   * `RefusalError` Unavailable.
   */
  keepAnswer(org: string, write: KeptAnswer, version: number): Promise<KeepResult>;
  /**
   * Carries out operations of an org's money that no object asks for (renewals), each by itself: a refused one does not fail its
   * neighbours. At most 1,000 at once. Takes no version. Resolves as `commit` does. Never rejects.
   */
  ledger(org: string, operations: readonly MoneyOperation[]): Promise<LedgerResult>;
  /** Commits waiting for a transaction, and the age of the oldest in ms (I13). */
  depth(): { readonly waiting: number; readonly oldestMs: number };
  /** Lets what is under way finish, some seconds at most; takes nothing new. */
  close(): Promise<void>;
}
