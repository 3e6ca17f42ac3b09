/**
 * The interface of the actors to the HTTP server: everything that HTTP may do with objects.
 * The implementation is in `actors/open.ts`. Nothing here can be called without an org (I12).
 */
import type { Author } from '../src/api/access/author.js';
import type { Address } from '../src/api/address.js';
import type { Refusal } from '../src/api/refusal.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { HoldRefusal } from '../src/money/operation.js';
import type { Payer } from '../src/money/payer.js';
import type { CommittedChange } from '../storage/commit/request.js';

/** Who asks: made by authentication, carried through for admission, managedFields and idempotency. */
export interface Caller extends Author {
  readonly org: string;
  /** Names the credential (an API key, one ServiceAccount token, an attempt): the holder of idempotency keys. */
  readonly holder: string;
  /** The object that the credential is of. Absent: the service itself. */
  readonly credential?: { readonly kind: string; readonly project: string; readonly name: string } | undefined;
  /** True for a scope such as `jobs:write` in this project ('' at org level). */
  may(scope: string, project: string): boolean;
}

interface WriteBase {
  readonly caller: Caller;
  readonly dryRun: boolean;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  readonly fieldManager: string;
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
  /** The entity tag of `If-Match`, without its quotes; of a create, that of an estimate. */
  readonly ifMatch?: string | undefined;
  /** Paths of duplicate members in the body, found while parsing it. */
  readonly duplicates: readonly string[];
}

export type WriteRequest =
  | (WriteBase & {
      readonly verb: 'create';
      readonly body: Record<string, unknown>;
      /** Given by the service alone, for what it makes for another object. */
      readonly payer?: Payer | undefined;
      /** Rates up to which its client has agreed that each part of its work may cost (USD per hour). Given on the way, never by a client. */
      readonly agreed?: readonly string[] | undefined;
    })
  | (WriteBase & { readonly verb: 'replace'; readonly body: Record<string, unknown> })
  | (WriteBase & { readonly verb: 'patch'; readonly patch: ObjectPatch })
  | (WriteBase & {
      readonly verb: 'delete';
      readonly options: DeleteOptions;
      /** Names of the objects of the same kind that are to go with it: what the kind's rule allows, it allows of all together. */
      readonly alongside?: ReadonlySet<string> | undefined;
    })
  /** One of `KindDefinition.actions`; `input` has passed its schema. */
  | (WriteBase & { readonly verb: 'action'; readonly action: string; readonly input: unknown });

export type ObjectPatch =
  | { readonly type: 'merge'; readonly patch: Record<string, unknown> }
  | { readonly type: 'json'; readonly operations: readonly unknown[] };

export interface DeleteOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}

export type WriteReply =
  | {
      readonly outcome: 'Done';
      /** 201 for create, 200 otherwise. */
      readonly status: number;
      /** The object's stamped bytes (with what is revealed once, where the kind reveals something). */
      readonly body: Buffer;
      /** Value for ETag, without quotes. */
      readonly etag: string;
      readonly warnings: readonly string[];
      readonly replayed?: boolean | undefined;
    }
  /** `parked`: the object takes nothing until an operator restarts it. `shortfall`: money refused it. */
  | {
      readonly outcome: 'Refused';
      readonly refusal: Refusal;
      readonly parked?: boolean | undefined;
      readonly shortfall?: HoldRefusal | undefined;
    };

/** What a list or watch ranges over. `project` undefined: every project that the caller may see. */
export interface Range {
  readonly org: string;
  readonly kind: KindDefinition;
  readonly project?: string | undefined;
  /** Exact name, from a field selector; narrows the read. */
  readonly name?: string | undefined;
}

export interface ListPage {
  /** The version at which the list is true. */
  readonly version: number;
  /** How many objects of the kind the project (or the org) has, whatever the page begins after; known for the newest state. */
  readonly count?: number | undefined;
  /** Stamped bytes of each object in (namespace, name) order: read as they are taken, in groups bounded in number and bytes. */
  readonly items: AsyncIterable<readonly Buffer[]>;
}

export interface PageRequest {
  readonly range: Range;
  /** Exact snapshot; undefined: now. */
  readonly version?: number | undefined;
  readonly after?: { readonly project: string; readonly name: string } | undefined;
  /** At most so many objects; undefined: all. */
  readonly limit?: number | undefined;
  readonly signal: AbortSignal;
}

/** Gets changes as they were committed (`before`, `after`); selectors are applied by the caller of `watch`. */
export interface Watcher {
  /**
   * Called once per flush tick (10 ms) with all new changes of the range in version order; `version` is how far the
   * stream is true. Return false when the receiver is too slow: the stream is ended (I10).
   */
  onChanges(changes: readonly CommittedChange[], version: number): boolean;
  /** Resolves when more may be handed over, or the receiver is gone. Asked while catching up: live changes never wait. */
  drained?(signal: AbortSignal): Promise<void>;
  /** The hub ends the watch: drain, or the version asked for is compacted (`Expired`). */
  onEnd(reason: 'Draining' | 'Expired' | 'Slow'): void;
}

export interface ResourceService {
  /** Sends a client's write to the object's actor and waits for its answer (bounded by the signal). */
  write(address: Address, request: WriteRequest, signal: AbortSignal): Promise<WriteReply>;
  /** Stamped bytes, or undefined. From the cache when it is there, else Postgres; sees every acknowledged write. */
  read(address: Address, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Synchronous look into the cache; undefined when it has to be read. */
  peek(address: Address): Buffer | undefined;
  list(request: PageRequest): Promise<ListPage>;
  /**
   * Resolves when the next slice of a list's work may hold the event loop, for a few milliseconds. The pieces of a list and
   * the steps of a watch that catches up come in slices of their own; this is for what is done before and beside them.
   */
  slice(org: string): Promise<void>;
  /** Version of the newest published change. */
  version(): number;
  /**
   * Version up to which every live watcher of the org has been handed all changes of its range.
   * Bookmarks carry it: `version()` may be ahead of what is still on its way to a watcher (I4).
   */
  settled(org: string): number;
  /** Oldest version from which a watch or an exact list can still be served. */
  floor(): number;
  /**
   * Changes with a version above `from`. Resolves once registered, or with `Expired` when `from` is below the floor, or above every
   * version that was ever given (the database was restored from a backup).
   */
  watch(range: Range, from: number, watcher: Watcher, signal: AbortSignal): Promise<'Watching' | 'Expired'>;
}
