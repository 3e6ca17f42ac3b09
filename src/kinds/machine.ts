/**
 * The contract between a kind's behaviour and the actor that runs it.
 *
 * `decide` is the whole behaviour of a kind: pure, total, and without a clock, ids or randomness of its own (I9).
 * The generic half of a write (metadata, validation, merge, generation, finalizers) is done by `write.ts` before it;
 * `decide` then sees the object with its new spec and says what follows.
 *
 * A machine may keep *side state*: facts that would not fit into `status` (a Job's slots, a Node's queue). The side state is read
 * by `decide` and changed only by `apply`, with the changes that a decision carries; the changes of stored side state are rows of
 * the decision's commit, other side state is rebuilt at activation.
 */
import type { Author } from '../api/access/author.js';
import type { ApiObject } from '../api/object.js';
import type { Refusal } from '../api/refusal.js';
import type { Address } from '../api/address.js';
import type { HoldRefusal } from '../money/operation.js';
import type { Payer } from '../money/payer.js';
import type { PriceBook } from '../money/price-book.js';
import type { Effect, LaterEffect } from './effect.js';
import type { ObjectMessage, MessageSender } from './object-message.js';
import type { WorkReport } from './report.js';
import type { Run } from './run-times.js';
import type { Images } from './work.js';

/** Time, ids and chance, as arguments (I9). */
export interface DecisionContext {
  /** Milliseconds since the epoch on Postgres's clock. */
  readonly now: number;
  /**
   * When this process became the active one (ms). Reports of work that ended before arrive late through the service's absence, for which no client
   * pays. Absent: nothing ended before.
   */
  readonly activeSince?: number | undefined;
  uid(): string;
  randomBytes(length: number): Uint8Array;
  /** Absent where nobody listens, as in tests. */
  readonly endpoints?: PublicEndpoints | undefined;
  /** Images that work may name here; absent: those of the catalog. */
  readonly images?: Images | undefined;
  /** What work is admitted by now; absent: everything is free. */
  readonly prices?: PriceBook | undefined;
  /** What is remembered of runs of like work; absent: nothing. */
  readonly runHistory?: ((org: string, project: string, like: string) => readonly Run[] | undefined) | undefined;
  /** How much of a machine the work of one org may hold at once, in percent (1 to 100); absent: all of it. */
  readonly orgMachinePercent?: number | undefined;
  /** Notices are mailed; absent: they are events only. */
  readonly mails?: boolean | undefined;
}

/** Where this deployment is reached from outside: for people to read in a status, never for deciding. */
export interface PublicEndpoints {
  /** URL of the HTTP server without a path: `https://127.0.0.1:8443`. */
  readonly base: string;
  /** The same for browsers: on this machine alone it needs no certificate. */
  readonly pages: string;
  /** The tools of each Workspace have an origin of their own below it; absent: they share that of `base`. */
  readonly toolDomain?: string | undefined;
  /** Absent: the SSH server is closed, for the reason in `sshClosed`. `hostKey` is a line as in `known_hosts`, without the host. */
  readonly ssh?: { readonly host: string; readonly port: number; readonly hostKey: string } | undefined;
  /** For a condition: a word, and what it means for those who would come in. */
  readonly sshClosed?: { readonly reason: string; readonly message: string } | undefined;
}

export type Message<Spec = unknown, Status = unknown> =
  /**
   * The object has just been created by this write. `by` absent: nobody, who may grant nothing. `payer`: of the object for which the service
   * makes this one; a client gives none. `agreed`: of an owner of Jobs, rates up to which its client has agreed that each part of its work may
   * cost (USD per hour, in the order of `pricedWork`).
   */
  | {
      readonly type: 'Created';
      readonly by?: Author | undefined;
      readonly payer?: Payer | undefined;
      readonly agreed?: readonly string[] | undefined;
    }
  /** A client's write changed `spec` or metadata; `before` is the object that it replaced. */
  | { readonly type: 'Updated'; readonly before: ApiObject<Spec, Status>; readonly by?: Author | undefined }
  /** A client called one of the kind's actions (`KindDefinition.actions`); `input` has passed the action's schema. */
  | { readonly type: 'Action'; readonly action: string; readonly input: unknown; readonly by?: Author | undefined }
  /** Deletion was asked for now: `deletionTimestamp` is set. Without finalizers left the object goes in this commit. */
  | { readonly type: 'DeletionRequested'; readonly by?: Author | undefined }
  /** The actor has loaded this object after a start, a crash or passivation. Reconcile: ask again for what may be lost. */
  | { readonly type: 'Activated' }
  | { readonly type: 'TimerFired'; readonly timer: string; readonly generation: number }
  | { readonly type: 'MessageReceived'; readonly from: MessageSender; readonly content: ObjectMessage }
  /** The engine says something about this Attempt's work. */
  | { readonly type: 'Reported'; readonly report: WorkReport }
  /** A later effect failed past its retries. `shortfall`: money refused it. */
  | {
      readonly type: 'EffectFailed';
      readonly effect: LaterEffect;
      readonly reason: string;
      readonly message: string;
      readonly shortfall?: HoldRefusal | undefined;
    };

/** What a machine decides on. `Private` is stored beside the object and never served. */
export interface Current<Spec, Status, Private> {
  readonly address: Address;
  readonly object: ApiObject<Spec, Status>;
  readonly private: Private | undefined;
}

/** A row of stored side state: `slots(uid, index, epoch, phase, failures, …)`. */
export interface SlotRow {
  readonly index: number;
  readonly epoch: number;
  readonly phase: string;
  readonly failures: number;
  /** Whatever else this kind keeps per slot; small. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

export type Decision<Status, Private, Change> =
  /** The object's next state. An equal one with no effects and no changes costs no commit. */
  | {
      readonly outcome: 'Next';
      readonly status: Status;
      /** Absent: as it is. */
      readonly private?: Private | undefined;
      /** Finalizers after this decision; absent: as they are. */
      readonly finalizers?: readonly string[] | undefined;
      /** A spec that the machine folds, such as a Secret's stripped values; absent: as it is. */
      readonly spec?: unknown;
      /** Annotations after this decision (a Secret blanks what `kubectl apply` noted down); absent: as they are. */
      readonly annotations?: Readonly<Record<string, string>> | undefined;
      readonly effects: readonly Effect[];
      /** Sent after the commit and stored nowhere, as those of `Volatile`: what a restart makes untrue, such as a granted place. */
      readonly volatile?: readonly LaterEffect[] | undefined;
      readonly changes?: readonly Change[] | undefined;
      /** Merged into `status` of this one answer and stored nowhere: a key's or a token's value. */
      readonly reveal?: Readonly<Record<string, unknown>> | undefined;
    }
  /** Nothing of it is stored; messages go out at once and are lost in a crash (the receiver that needs them asks again). */
  | { readonly outcome: 'Volatile'; readonly changes: readonly Change[]; readonly volatile: readonly LaterEffect[] }
  /** A client's write is refused by this kind's own rules; nothing changes. */
  | { readonly outcome: 'Refused'; readonly refusal: Refusal }
  /** Late, repeated or meaningless here: nothing changes. */
  | { readonly outcome: 'Ignored' };

/** How a machine keeps its side state. `Change` is a `SlotRow` when the side state is stored. */
export interface SideStateStore<Side, Change> {
  /** Stored: the changes are rows in `slots`, loaded again at activation. Otherwise the side state starts empty each time. */
  readonly stored: boolean;
  open(rows: readonly SlotRow[]): Side;
  /** Changes the side state in place. Called once per decided change, in order. */
  apply(side: Side, change: Change): void;
}

export interface Machine<Spec = unknown, Status = unknown, Private = unknown, Side = unknown, Change = unknown> {
  readonly sideState?: SideStateStore<Side, Change> | undefined;
  /** `side` is undefined for a kind without one. Must not change it. */
  decide(
    current: Current<Spec, Status, Private>,
    side: Side,
    message: Message<Spec, Status>,
    context: DecisionContext,
  ): Decision<Status, Private, Change>;
  /** True when nothing can happen to the object any more unless a client writes: its actor is let go when it has been idle for a while, and is not woken at a start. */
  isTerminal?(status: Status): boolean;
}
