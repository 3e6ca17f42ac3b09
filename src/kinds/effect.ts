/**
 * What a machine may ask of the world. Effects are data: a machine returns them, it never carries one out. Each type has its entry in
 * a table, which says how it is carried out.
 *
 * Two families, by when they happen:
 * - `CommitEffect`: rows written in the very transaction of the state that asked (I5). Nothing is left to do afterwards.
 *   Its table is `actors/effects/commit-effects.ts`.
 * - `LaterEffect`: stored in that transaction, carried out after it by the effect runner on the owner; at least once,
 *   in version order per object and target, idempotent by its key (`uid`, version, position).
 *   One that fails past its retries returns to its object as an `EffectFailed` message. Its table is `actors/effects/table.ts`.
 */
import type { Address } from '../api/address.js';
import type { ObjectMessage } from './object-message.js';
import type { PaymentSource, SavedCard } from './topup/payment.js';
import type { MoneyOperation } from '../money/operation.js';
import type { Payer } from '../money/payer.js';

export type CommitEffect =
  /** Record an event (spec, "Event types"); `type` is `<kind>.<reason>` in lower case. Repeats raise its count. */
  | { readonly type: 'Emit'; readonly event: string; readonly reason: string; readonly message: string }
  /** Wake me at a time with `TimerFired`. Arming the same name again replaces the earlier one (its generation grows). */
  | { readonly type: 'ArmTimer'; readonly timer: string; readonly at: number }
  | { readonly type: 'CancelTimer'; readonly timer: string }
  /**
   * Seal these values as the given version of this Secret. The values reach only the envelope (I11).
   * `keep`: values of these keys are taken over, unseen, from an older version (a patch that names some keys only).
   */
  | {
      readonly type: 'SealSecret';
      readonly version: number;
      readonly values: ReadonlyMap<string, Uint8Array>;
      readonly keep?: { readonly from: number; readonly keys: readonly string[] } | undefined;
    }
  /** Forget secret versions older than this one. */
  | { readonly type: 'DropSecretVersions'; readonly below: number }
  /** A bearer credential now stands for this object; only its SHA-256 is stored. */
  | {
      readonly type: 'GrantCredential';
      readonly sha256: string;
      readonly expires?: number | undefined;
      readonly detail: Readonly<Record<string, unknown>>;
    }
  /** All credentials of this object end. */
  | { readonly type: 'RevokeCredentials' }
  /** The object keeps no blob any more, neither those that its state names nor those that were collected for it. */
  | { readonly type: 'ReleaseBlobs' }
  /** Money rides in this commit; the commit may refuse it (I7). */
  | { readonly type: 'Money'; readonly operation: MoneyOperation }
  /** The object is finished with: its row goes, and everything that hangs on its uid. */
  | { readonly type: 'DeleteSelf' };

export type LaterEffect =
  /** Put a message in another object's mailbox. With `uid`, only that incarnation gets it. */
  | { readonly type: 'Tell'; readonly to: Address; readonly uid?: string | undefined; readonly message: ObjectMessage }
  /** Create an object owned by this one, in the same org and project. One that already exists with this owner is a success. */
  | {
      readonly type: 'CreateChild';
      readonly kind: string;
      readonly name: string;
      /** Given by an org-level owner only: a Namespace's children are born in the project of its name. */
      readonly project?: string | undefined;
      readonly labels?: Readonly<Record<string, string>> | undefined;
      readonly annotations?: Readonly<Record<string, string>> | undefined;
      readonly spec: unknown;
      /** Who pays for the child, where that is the payer of its owner. */
      readonly payer?: Payer | undefined;
      /** Index of the slot of the asking object that waits for this child, where one does. */
      readonly slot?: number | undefined;
    }
  /** Merge this into the spec of an object that this one owns. With `uid`, only into that incarnation; gone already is a success. */
  | {
      readonly type: 'PatchChild';
      readonly kind: string;
      readonly name: string;
      readonly uid?: string | undefined;
      readonly spec: Readonly<Record<string, unknown>>;
      /** Index of the slot of the asking object that says what it asks of this child last. Absent in one that was stored before it was written there. */
      readonly slot?: number | undefined;
    }
  /** Ask for the deletion of an object; gone already is a success. */
  | { readonly type: 'DeleteChild'; readonly kind: string; readonly name: string; readonly uid?: string | undefined }
  /** Start this Attempt's work on the engine. Answers come as `Reported` messages. */
  | {
      readonly type: 'StartWork';
      readonly owner: Address;
      readonly ownerUid: string;
      readonly slot: number;
      readonly epoch: number;
    }
  /** Stop this Attempt's work: SIGTERM, then SIGKILL after the grace; its end comes as a `Reported` message. */
  | { readonly type: 'StopWork'; readonly epoch: number; readonly graceSeconds: number }
  /** Release what the work left on the engine (scratch, logs when `logs`), and prove it; `Reported` `Removed` follows. */
  | { readonly type: 'RemoveWork'; readonly epoch: number; readonly logs: boolean }
  /**
   * The owner with this uid is gone or going: delete (or, when orphaning, release) everything it owned.
   * `answer`: the owner still stands and waits for `ChildrenGone`. `again`: all have been asked before, and one has gone;
   * look only whether any is left.
   */
  | {
      readonly type: 'CollectChildren';
      readonly uid: string;
      readonly orphan: boolean;
      readonly answer: boolean;
      readonly again?: boolean | undefined;
    }
  /**
   * One pass over a project that is going: ask for the deletion of every object in it (owned ones first), then count what
   * is there and tell the asking object with `ProjectCollected`. The asker asks again until nothing remains.
   */
  | { readonly type: 'CollectProject'; readonly project: string }
  /**
   * A Node has lost count of its places (its side state starts empty): wake every unfinished Attempt with `Activated`, which
   * makes it ask again, speak for those that are parked and hold one, then put the message `PlacesCounted` behind their
   * messages in the Node's mailbox. `count` names the side state; absent: stored before they had names.
   */
  | { readonly type: 'CountPlaces'; readonly count?: string | undefined }
  /** A WebhookEndpoint is paused or going: its deliveries of events up to this commit that are still pending are given up. */
  | { readonly type: 'AbandonDeliveries' }
  /**
   * So many pieces of work of this object wait until `neededUSD` are free on the counter. `MoneyFreed` wakes them, `MoneyExhausted` says that it
   * would not. `above`: they were stopped for want of money when that was the limit, so only more than it wakes them. `since` in ms: the order.
   */
  | {
      readonly type: 'AwaitMoney';
      readonly counter: string;
      readonly neededUSD: string;
      readonly above?: string | undefined;
      readonly count: number;
      readonly since: number;
    }
  /** Make the page at which this TopUp is paid; `CheckoutOpened` follows. `token`: of the pages that the browser comes back to. */
  | {
      readonly type: 'OpenCheckout';
      /** Of this TopUp: each has a page of its own. */
      readonly attempt: number;
      /** ms. */
      readonly expires: number;
      readonly amountUSD: string;
      readonly saveCard: boolean;
      readonly token: string;
    }
  /**
   * Charge this card; `CardCharged` or `PaymentRefused` follows. Without one, the card that the org has saved is looked up and nothing is
   * charged; `CardChosen` or `PaymentRefused` follows. Past `expires` (ms) it is not charged any more, but a charge of it is looked for, since
   * the processor may have forgotten the key of one whose answer was lost.
   */
  | {
      readonly type: 'ChargeCard';
      readonly amountUSD: string;
      /** Absent in one that was stored before it was written there: it is charged. */
      readonly expires?: number | undefined;
      readonly card?: SavedCard | undefined;
    }
  /** Ask the processor how this TopUp stands; `PaymentChanged` follows. */
  | { readonly type: 'LookAtPayment'; readonly source: PaymentSource; readonly amountUSD: string }
  /** Send this Wallet its balance, whatever it knows: it has other levels now, or waits for what it has bought. */
  | { readonly type: 'AskBalance' }
  /** The object has ended: show what the ledger says of its cost from now on, so that its status says when that is final. */
  | { readonly type: 'ShowCost' };

export type Effect = CommitEffect | LaterEffect;
