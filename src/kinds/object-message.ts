/**
 * The messages that objects send each other. A message carries facts, not commands to trust blindly:
 * the receiver compares them with its own state, so repeats and late arrivals are harmless.
 */
import type { Address } from '../api/address.js';
import type { Segment } from '../money/hold.js';
import type { CostLimit } from '../money/limits.js';
import type { HoldRefusal } from '../money/operation.js';
import type { ResourceAmounts } from './amounts.js';
import type { Payment, PaymentDispute, PaymentSource, SavedCard } from './topup/payment.js';
import type { BrowserTool } from './workspace/browser-tools.js';

/** Who sent a message: the incarnation and the version of the state that asked for it. */
export interface MessageSender {
  readonly address: Address;
  readonly uid: string;
  /** resourceVersion of the sender's commit; 0 for a message that no commit asked for (it is asked again after a restart). */
  readonly version: number;
}

export type ObjectMessage =
  /** Attempt → owner: my phase is now this. */
  | {
      readonly type: 'AttemptChanged';
      readonly slot: number;
      readonly epoch: number;
      readonly phase: 'Queued' | 'Provisioning' | 'Running' | 'Succeeded' | 'Failed' | 'Cancelled';
      /** True when the capacity failed and not the work (a replacement may follow). */
      readonly lost: boolean;
      readonly reason: string;
      readonly message: string;
      readonly exitCode?: number | undefined;
      /** Milliseconds since the epoch at which the change happened. */
      readonly time: number;
      /** It has ended: the units of work that it had reported. */
      readonly units?: number | undefined;
      readonly outputs?: readonly CollectedOutput[] | undefined;
      /** It has begun, and not all of its saved files could be restored: which, and why. */
      readonly unrestored?: string | undefined;
      /** Nothing of it runs any more, and it does not end before its vital output is saved, which did not work yet: why. */
      readonly unsaved?: string | undefined;
      /** It has ended since its hold could not be renewed: what refused that. */
      readonly shortfall?: HoldRefusal | undefined;
      /** It has ended, and nothing of its work is left on any machine. Owners that wait for this get a message for it (`proofWanted`). */
      readonly gone?: boolean | undefined;
    }
  /** Owner → Attempt: stop, for this reason (`Stopped`, `Suspended`, `Released`, …: spec, Attempt status.reason). */
  | { readonly type: 'StopAttempt'; readonly epoch: number; readonly reason: string; readonly graceSeconds: number }
  /**
   * Owner → Attempt, when the owner goes for good: nothing of you is wanted any more. Without a grace it ends at once and nothing is
   * saved, and the Attempt goes once nothing of it is left.
   */
  | { readonly type: 'DropAttempt'; readonly epoch: number; readonly graceSeconds: number }
  /** Owner → Attempt: tell me (`AttemptChanged`) how you stand. Sent when the owner is opened again. */
  | { readonly type: 'AttemptAsked'; readonly epoch: number }
  /** Owner → Attempt whose capacity was lost: this Attempt has taken your slot. */
  | { readonly type: 'AttemptSuperseded'; readonly epoch: number; readonly by: string }
  /**
   * Effect runner → owner, before the work of this epoch begins: these versions of the Secrets that it mounts are taken, by
   * Secret. The first message of an epoch holds; a start that is carried out again takes what was noted then.
   */
  | {
      readonly type: 'SecretsPinned';
      readonly epoch: number;
      readonly versions: Readonly<Record<string, { readonly version: number; readonly id: string }>>;
    }
  /**
   * Effect runner → owner, before the work of this epoch begins: its image's name stands for this digest. The first message holds for
   * all epochs: what starts later runs the same image, whatever the name stands for by then.
   */
  | { readonly type: 'ImagePinned'; readonly epoch: number; readonly digest: string }
  /**
   * HTTP or SSH server → Sandbox: at `at` (ms since the epoch) something ran in it or was asked of it; `busy`: and is under way still.
   * Said when the first thing begins, when the last one has ended, and every minute between: a busy one that is not
   * repeated for three minutes lapses, so that a server which dies keeps nothing awake. Of another epoch: means nothing (I8).
   */
  | { readonly type: 'ActivitySeen'; readonly epoch: number; readonly at: number; readonly busy: boolean }
  /** Service → Workspace: the browser tools that there are programs for inside now. Of another epoch: means nothing (I8). */
  | { readonly type: 'ToolsFound'; readonly epoch: number; readonly tools: readonly BrowserTool[] }
  /** Attempt API → Attempt: its work says how far it has come, in units of its own. */
  | {
      readonly type: 'ProgressMade';
      readonly epoch: number;
      readonly completed: number;
      readonly total?: number | undefined;
    }
  /** Owner → Attempt that has ended: I keep what I want of your outputs now; let go of all of them. */
  | { readonly type: 'OutputsTaken'; readonly epoch: number }
  /**
   * Writer → Volume: I ask for the lease, or, holding it, I renew it for a later epoch; `attempt` is the Attempt that will write.
   * `term` counts the leases that this writer has asked for, one for each epoch at least. The holder is known by uid and term, so
   * what an earlier epoch returns commits nothing any more (I8).
   */
  | { readonly type: 'LeaseWanted'; readonly term: number; readonly epoch: number; readonly attempt: string }
  /**
   * Volume → writer: it is yours for this term; who has another uid returns it. `home`: the newest revision; absent: the Volume is
   * empty. `size`: most bytes of one.
   */
  | {
      readonly type: 'LeaseGranted';
      readonly uid: string;
      readonly term: number;
      readonly home?: RevisionRef | undefined;
      readonly size?: number | undefined;
    }
  /** Volume → writer: not now. One whose reason may pass is sent `LeaseFree` when it has. */
  | { readonly type: 'LeaseDenied'; readonly term: number; readonly reason: string; readonly message: string }
  /** Volume → a writer that was denied: ask again. */
  | { readonly type: 'LeaseFree' }
  /**
   * Writer → Volume: I write no more. `saved` becomes the newest revision, if the lease is mine for this term. `of`: uid of the Volume
   * that has granted it; absent: none has yet.
   */
  | {
      readonly type: 'LeaseReturned';
      readonly uid: string;
      readonly term: number;
      readonly of?: string | undefined;
      readonly saved?: SavedFiles | undefined;
    }
  /** Volume → writer, the answer: `committed` names the revision that is newest now; absent: nothing of yours was taken. */
  | { readonly type: 'LeaseEnded'; readonly term: number; readonly committed?: RevisionRef | undefined }
  /** Volume → the holder of its lease: somebody waits; do you still hold it? One with another uid, or who does not, returns it. */
  | { readonly type: 'LeaseChecked'; readonly uid: string; readonly term: number }
  /** Attempt → Node: I ask for a place, or I say that I have one. Asked again after every restart of either side. */
  | {
      readonly type: 'PlaceWanted';
      readonly owner: Address;
      readonly ownerUid: string;
      /** When the Attempt began to wait, in ms since the epoch: age decides within one owner. */
      readonly since: number;
      readonly amounts: ResourceAmounts;
      /** True when the place was granted before: it counts, whatever is free. */
      readonly held: boolean;
    }
  /** Node → Attempt: the place is yours until you release it. */
  | { readonly type: 'PlaceGranted'; readonly offering: string; readonly regionClass: string }
  /** Node → Attempt: not yet, and why. */
  | { readonly type: 'PlaceDenied'; readonly reason: string; readonly final: boolean }
  /** Attempt → Node: my work is proven gone, the place is free. `waited`: I only waited for one, so nobody waits for this. */
  | { readonly type: 'PlaceReleased'; readonly waited?: true }
  /** Runtime → Node: what the engine of this machine has now. Told at start, on every change and about once a minute. */
  | {
      readonly type: 'NodeObserved';
      readonly engine: string;
      readonly isolation: string;
      /** What work may use of the machine. */
      readonly capacity: ResourceAmounts;
      /** Why no work can run here; absent when it can. */
      readonly refusal?: string | undefined;
      /** Why nothing new begins here for now, though what runs goes on: a disk is nearly full. Absent when it is not. */
      readonly shortage?: string | undefined;
      readonly version?: string | undefined;
      readonly addresses?: readonly string[] | undefined;
    }
  /** Effect runner → Node, the answer to the `CountPlaces` of this name: every Attempt that holds a place has said so. */
  | { readonly type: 'PlacesCounted'; readonly count?: string | undefined }
  /** Effect runner → owner under deletion: nothing that it owned is left (or, orphaning, everything is released). */
  | { readonly type: 'ChildrenGone' }
  /**
   * Child → controlling owner, when that is of a kind that waits for it (`asChild.parents`): my phase or its reason is now this, or I
   * was asked. The lifecycle says it for every kind.
   */
  | ({
      readonly type: 'ChildChanged';
      readonly uid: string;
      readonly phase: string;
      readonly reason: string;
      readonly message: string;
      /** Of the spec. */
      readonly generation: number;
      /** resourceVersion of the state that an answer tells; absent: that of the sender's commit. */
      readonly version?: number | undefined;
    } & ChildFacts)
  /** Owner → child: tell me (`ChildChanged`) how you stand. */
  | { readonly type: 'ChildAsked' }
  /** Child → owner: I no longer exist. */
  | { readonly type: 'ChildGone'; readonly uid: string; readonly kind: string }
  /** Ledger → object: what it has cost so far. Goes into `status.cost` of every kind in the same way, before its machine sees a message. */
  | { readonly type: 'CostChanged'; readonly cost: CostFigures; readonly revision: number }
  /** Ledger → Budget: what is spent and held in its current period. */
  | ({ readonly type: 'SpendChanged'; readonly revision: number } & SpendFigures)
  /** Ledger → CreditGrant: what is left of it. */
  | { readonly type: 'CreditsChanged'; readonly remainingUSD: string }
  /** Ledger → Budget: so many percent of its limit are spent in this period. Told again when the sender does not know that it was. */
  | { readonly type: 'ThresholdReached'; readonly period: string; readonly threshold: number }
  /** Service → Budget: the mails about this threshold have ended, all of them. `error`: of one that could not be delivered. */
  | {
      readonly type: 'NoticeMailed';
      readonly period: string;
      readonly threshold: number;
      readonly sent: number;
      readonly failed: number;
      readonly error?: string | undefined;
    }
  /** Committer → Budget: so many first holds were refused by it since the last such message; at most one a minute. */
  | {
      readonly type: 'HoldsRefused';
      readonly count: number;
      /** Of the last of them, as it was then (USD). */
      readonly last: { readonly availableUSD: string; readonly neededUSD: string; readonly limitUSD: string };
      /** How long ago that was (ms). */
      readonly ago: number;
    }
  /** Ledger → Attempt: no money for the time after `until` (ms). `sequence` is its hold's: an older one means nothing. */
  | {
      readonly type: 'FundingRefused';
      readonly shortfall: HoldRefusal;
      readonly until: number;
      readonly sequence: number;
    }
  /** Ledger → Attempt: what was refused has its money again. */
  | { readonly type: 'FundingRestored'; readonly sequence: number }
  /**
   * Ledger → owner whose work waits for money (`AwaitMoney`): so many of its pieces fit now; `stopped` as they were asked for. Nothing is held
   * for them: each tries again, and may be refused again.
   */
  | { readonly type: 'MoneyFreed'; readonly counter: string; readonly stopped: boolean; readonly count: number }
  /** Ledger → the same: too little is left, and nothing is held that could be given back. Only more money helps. */
  | { readonly type: 'MoneyExhausted'; readonly counter: string; readonly limitUSD: string }
  /** Answer of a `CollectProject` pass, from the object to itself: so many objects are still in the project. */
  | { readonly type: 'ProjectCollected'; readonly project: string; readonly remaining: number }
  /**
   * Sender → WebhookEndpoint: how its deliveries stand now. `recent` is the latest attempt of each of the latest deliveries,
   * newest delivery first, at most three; the counts are those of 24 hours. Times in ms since the epoch.
   */
  | {
      readonly type: 'DeliveriesSeen';
      readonly recent: readonly { readonly succeeded: boolean; readonly time: number }[];
      readonly succeeded: number;
      readonly failed: number;
      /** The latest attempt since the last such message; `status` 0: no response. */
      readonly last?:
        | { readonly attempt: number; readonly event: string; readonly status: number; readonly time: number }
        | undefined;
    }
  /** Gateway → InferenceEndpoint: its use in the last 24 hours, and the requests that run now. At most one a second. */
  | { readonly type: 'UsageChanged'; readonly usage: ModelUsage }
  /** Gateway → InferenceEndpoint: the Model that it names, and whether something serves that. */
  | {
      readonly type: 'ModelObserved';
      /** Name of the Model; absent: there is none any more. */
      readonly model?: string | undefined;
      readonly available: boolean;
      readonly reason: string;
      readonly message: string;
    }
  /** Gateway → InferenceEndpoint: money refuses its requests since now, or no longer (no `refusal`). Said again when it is not known. */
  | {
      readonly type: 'RequestsFunded';
      readonly refusal?:
        | { readonly reason: 'MaxCostReached' | 'BudgetExceeded' | 'InsufficientCredits'; readonly message: string }
        | undefined;
    }
  /** Gateway → Model: whether something serves it. */
  | { readonly type: 'ServingObserved'; readonly available: boolean; readonly message: string }
  /** Payments → TopUp: its page is there. */
  | {
      readonly type: 'CheckoutOpened';
      readonly attempt: number;
      readonly id: string;
      readonly url: string;
      /** ms. */
      readonly expires: number;
    }
  /** Payments → TopUp: so little of its time was left that no page was made. */
  | { readonly type: 'CheckoutTooLate'; readonly attempt: number }
  /** Payments → TopUp: no page will be made, or the saved card is not charged, and why. */
  | { readonly type: 'PaymentRefused'; readonly message: string }
  /** Payments → TopUp: this is the saved card; it is charged when the TopUp has kept it. */
  | { readonly type: 'CardChosen'; readonly card: SavedCard }
  /** Payments → TopUp: the charge of the saved card was begun. */
  | { readonly type: 'CardCharged'; readonly payment: string }
  /** Payments → TopUp: how it stands at its processor, by a read that began after those of all such messages before. */
  | { readonly type: 'PaymentChanged'; readonly source: PaymentSource; readonly payment: Payment }
  /** Payments → TopUp: the browser goes to its successURL now, for the one time. */
  | { readonly type: 'BrowserSent' }
  /** TopUp → Wallet: this card may be charged again. */
  | { readonly type: 'CardSaved'; readonly card: SavedCard }
  /** TopUp → Wallet: a dispute of its payment stands so now. */
  | { readonly type: 'DisputeChanged'; readonly topUp: string; readonly dispute: PaymentDispute }
  /** Ledger → Wallet of an org that pays in advance: what is free, and what is owed (USD). */
  | { readonly type: 'BalanceChanged'; readonly availableUSD: string; readonly arrearsUSD: string }
  /** Blobs → Wallet: the org has as many bytes as it may have, and wanted more. */
  | { readonly type: 'StorageFull'; readonly quotaBytes: number }
  /** Something that stands for this object was used (a credential, a mounted secret). At most one a minute is worth sending. */
  | { readonly type: 'Used'; readonly time: number };

/** As in `status.usage24h` of an InferenceEndpoint. */
export interface ModelUsage {
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUSD: string;
  readonly openHolds: number;
}

/** What the owner of work wants to know of it beside its phase. Times in ms since the epoch. */
export interface ChildFacts {
  /** USD: once nothing more will be charged. */
  readonly costUSD?: string | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Of the time between them, how long it was suspended, in ms; absent: not at all. */
  readonly suspendedMs?: number | undefined;
  /** Units of work done, as the work has counted them. */
  readonly units?: number | undefined;
  /** The cap that was reached, as it was then, so that this one rests. */
  readonly capped?: CostLimit | undefined;
}

/** As the ledger has them; amounts are decimal strings in USD, times ms. */
export interface CostFigures {
  readonly totalUSD: string;
  readonly heldUSD: string;
  /** How many hold money for it, one that has none left as well. */
  readonly holders: number;
  readonly segments: Readonly<Partial<Record<Segment, string>>>;
  readonly covered: readonly Segment[];
  /** Of all capacity that is billed now; absent: none is. */
  readonly rateUSDPerHour?: string | undefined;
  readonly fundedUntil?: number | undefined;
}

export interface SpendFigures {
  /** `2026-11`, or `total`. */
  readonly period: string;
  readonly spentUSD: string;
  readonly heldUSD: string;
  /** A hold was refused by this Budget since anything became free. */
  readonly refusing: boolean;
}

/** A revision of a Volume, and the blob that it is. */
export interface RevisionRef {
  readonly revision: string;
  /** `sha256:<64 hexadecimal digits>` of a tar.zst. */
  readonly digest: string;
}

/** Files that work has left, as one blob. */
export interface SavedFiles {
  /** As of RevisionRef. */
  readonly digest: string;
  /** Bytes of the blob. */
  readonly size: number;
  /** Bytes of the files in it, as their readers see them. Absent: not known. */
  readonly logical?: number | undefined;
  /** When the work had ended, in ms since the epoch. */
  readonly time: number;
}

/** One collected output of an Attempt: a blob, by digest. */
export interface CollectedOutput {
  readonly name: string;
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of its files as their readers see them; known of directories that are saved. */
  readonly logical?: number | undefined;
  /** It was a directory: the blob is its tar.zst. */
  readonly directory?: boolean | undefined;
  /** Set when the output could not be collected: what went wrong. */
  readonly error?: string | undefined;
}
