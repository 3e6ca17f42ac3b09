/** What the actors need of the process that holds the lease: storage, the engine, the clock, and observers. */
import type { Address } from '../src/api/address.js';
import type { ComputeEngine } from '../src/engines/compute/contract/engine.js';
import type { MailEngine } from '../src/engines/mail/engine.js';
import type { PaymentProcessor } from '../src/engines/payments/processor.js';
import type { TestDesk } from '../src/engines/payments/test/desk.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { PublicEndpoints } from '../src/kinds/machine.js';
import type { PriceBook } from '../src/money/price-book.js';
import type { AdmissionSwitch } from '../storage/admissions.js';
import type { CommittedChange, Committer } from '../storage/commit/request.js';
import type { MailEnd } from '../storage/ledger/mails.js';
import type { LeaderRows } from '../storage/ledger/leader-rows.js';
import type { Purchases } from '../storage/payments/purchases.js';
import type { ReadBalances } from '../storage/payments/wallet-balances.js';
import type { PriceTags } from '../storage/envelope/price-tags.js';
import type { RunHistoryRows } from '../storage/run-history.js';
import type { ChangesLog, Clock, Objects, Pending, Responses, SecretVersions, StoredTimer } from '../storage/store.js';
import type { AdmissionDeps } from './admission/admission.js';
import type { ActorDeps } from './resource/self.js';
import type { EffectDeps } from './effects/table.js';
import type { Inputs } from './work/inputs.js';
import type { ReportDeps } from './work/reports.js';
import type { WorkSpecDeps } from './work/work-spec.js';

export interface Timers {
  arm(timer: StoredTimer): void;
  clear(timer: { readonly uid: string; readonly timer: string; readonly generation: number }): void;
  rearm(): Promise<void>;
  close(): Promise<void>;
}

export interface ActorsDeps {
  readonly kinds: readonly KindDefinition[];
  readonly clock: Clock;
  readonly objects: Objects;
  readonly log: ChangesLog;
  readonly pending: Pending;
  readonly responses: Responses;
  readonly secrets: SecretVersions;
  readonly ledger: LeaderRows;
  openCommitter(publish: (changes: readonly CommittedChange[]) => void): Promise<Committer>;
  openTimers(fire: (timer: StoredTimer) => void): Promise<Timers>;
  readonly engine: ComputeEngine | undefined;
  /** Where people find this deployment. */
  readonly endpoints?: PublicEndpoints | undefined;
  /** The price book that is in use now; absent: everything is free. */
  readonly prices?: (() => PriceBook) | undefined;
  /** Absent: no create can be bound to an estimate. */
  readonly priceTags?: PriceTags | undefined;
  /** What would refuse these operations of the ledger now; absent: a dry run says nothing of money. */
  readonly rehearse?: ActorDeps['rehearse'];
  /** The limit of an org that is full; absent: a dry run says nothing of it. */
  readonly fullOrg?: ActorDeps['fullOrg'];
  /** Absent: notices are events only. */
  readonly mail?: MailPart | undefined;
  /** Absent: estimates know nothing of earlier runs. */
  readonly runHistory?: RunHistoryRows | undefined;
  readonly payments: PaymentDeps;
  readonly inputs: Inputs;
  /** How work reaches its own API; absent where there is none. */
  readonly access?: WorkSpecDeps['access'];
  readonly keepOutput: ReportDeps['keep'];
  readonly settings: ActorSettings;
  readonly stopping: AbortSignal;
  readonly admissions: AdmissionSwitch;
  /** Why no object can be taken now, such as a disk that is nearly full. */
  shortage?(): string | undefined;
  /** Why a URL can never be reached from here; absent: any may be. */
  readonly neverDialled?: AdmissionDeps['neverDialled'] | undefined;
  readonly abandonDeliveries: EffectDeps['abandonDeliveries'];
  readonly forgetBlobs: EffectDeps['forgetBlobs'];
  /** Every committed change, in version order, before it is acknowledged. Must be quick. */
  onChange(change: CommittedChange): void;
  /** A commit was fenced: another process is the active one now. */
  onFenced(): void;
  readonly observe: ActorObserver;
}

export interface ActorSettings {
  readonly cacheBytes: number;
  readonly ringBytes: number;
  /** Of one org, that wait or run. */
  readonly attemptsPerOrg: number;
  /** Objects that an org may have of these kinds. */
  readonly mostOfKind: ReadonlyMap<string, number>;
  /** How much of a machine the work of one org may hold at once, in percent (1 to 100). */
  readonly orgMachinePercent: number;
  /** How long work goes on after what is paid, while nobody renews its hold. */
  readonly unfundedGraceMs: number;
  readonly mailboxLimit: number;
  /** Idle time after which an actor is let go. */
  readonly passivateAfterMs: number;
}

export interface PaymentDeps {
  /** Undefined: credits cannot be bought. */
  readonly processor: PaymentProcessor | undefined;
  /** The pages of the embedded test processor, where that is the processor. */
  readonly desk?: TestDesk | undefined;
  readonly purchases: Purchases;
  readonly balances: ReadBalances;
}

export interface MailPart {
  readonly engine: MailEngine;
  /** A try has left a mail in this phase. */
  onOutcome(phase: MailEnd['phase']): void;
}

/** Of which part of the service a problem is, as the log says it. */
export type ProblemPart =
  | 'the timers'
  | 'the webhooks'
  | 'the compute engine'
  | 'running work'
  | 'the actors'
  | 'commits to Postgres'
  | 'the sweeps'
  | 'the ledger'
  | 'the mails'
  | 'the payments'
  | 'the gateway'
  | 'stored Secrets';

/** What happens among the actors, for metrics and logs. Never carries object contents. */
export interface ActorObserver {
  crash(address: Address, errorClass: string, parked: boolean): void;
  effect(type: string, outcome: string): void;
  problem(part: ProblemPart, message: string): void;
}
