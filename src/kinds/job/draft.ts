/**
 * One decision of a Job while it is being made: the table as it is, the slots that this decision changes, and the
 * effects gathered so far. The table itself is not touched; the changes become rows of the decision's commit.
 */
import type { ApiObject } from '../../api/object.js';
import { IndexSet } from '../../api/ranges.js';
import type { Address } from '../../api/address.js';
import { API_GROUP } from '../../brand.js';
import type { CostLimit } from '../../money/limits.js';
import type { PriceBook } from '../../money/price-book.js';
import { ownerLabel } from '../attempts/names.js';
import type { AttemptOwner } from '../attempts/requests.js';
import { payerOf, type AdmittedPayer } from '../attempts/payer.js';
import { showAdmitted } from '../attempts/terms.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { DecisionContext } from '../machine.js';
import { limitsOf } from '../shapes/resources.js';
import type { JobPhase, JobStatus } from './status.js';
import type { JobSpec } from './schema.js';
import type { Slot, SlotTable } from './slots.js';

export type Job = ApiObject<JobSpec, JobStatus>;

/** How a Job that is ending will end, once none of its Attempts is left. */
export interface Ending {
  readonly phase: Extract<JobPhase, 'Failed' | 'Cancelled'>;
  readonly reason: string;
  readonly message: string;
}

/** Stored beside the Job and never served. Times are in ms since the epoch. */
export interface JobPrivate {
  /** Timers that are armed, and for when. */
  readonly timers: Readonly<Record<string, number>>;
  /** When the first Attempt was provisioned: `timeout` counts from here. */
  readonly startedAt?: number | undefined;
  readonly suspendedAt?: number | undefined;
  /** All Suspended time before `suspendedAt`. */
  readonly suspendedMs: number;
  /** Since when Attempts wait and none has a place. */
  readonly unplacedSince?: number | undefined;
  readonly ending?: Ending | undefined;
  /** Of an index that failed and is tried again: its last failure, until it has succeeded. */
  readonly lastFailure?: { readonly index: number; readonly reason: string; readonly message: string } | undefined;
  /** Of an index whose program has ended: why its outputs are not kept yet. Until it has ended. */
  readonly unsaved?: { readonly index: number; readonly why: string } | undefined;
  /** Outputs of indexes that have succeeded which could not be collected: how many, and the first of them in words. */
  readonly uncollected?: { readonly count: number; readonly first: string } | undefined;
  readonly finishedAt?: number | undefined;
  /** Units of work that the indexes which have succeeded had reported. Absent: none said any. */
  readonly units?: number | undefined;
  /** Why nothing is placed yet, as the Node told it. */
  readonly waitReason?: string | undefined;
  /** What it was admitted at, as `showTerms` writes it. Absent: it was created before there were prices, and is free. */
  readonly terms?: string | undefined;
  /** Absent as the terms are. */
  readonly payer?: AdmittedPayer | undefined;
  /**
   * The hold of work that waits has not been given up for that of an Attempt. `UntilReleased`: it was taken when the Job was resumed; an Attempt
   * from before may tell of its place later than that, so no such news says that the hold is taken over, and it is released at the next stop.
   */
  readonly firstHold?: true | 'UntilReleased' | undefined;
  /** Money is refused, and why. */
  readonly unfunded?: { readonly reason: string; readonly message: string } | undefined;
  /** The cap that was reached, as it was then, of this Job or of what has made it. `true` was written for either by an earlier version. */
  readonly capped?: CostLimit | true | undefined;
}

export const FRESH: JobPrivate = { timers: {}, suspendedMs: 0 };

const JOB_LABEL = `${API_GROUP}/job`;
const INDEX_LABEL = `${API_GROUP}/index`;

/** Labels of the Attempt of an index. */
export function jobLabels(job: string, index: number): Readonly<Record<string, string>> {
  return { [JOB_LABEL]: ownerLabel(job), [INDEX_LABEL]: String(index) };
}

export class JobDraft {
  readonly owner: AttemptOwner;
  readonly job: Job;
  readonly now: number;
  private: JobPrivate;
  /** As the status will say. */
  image: JobStatus['image'];
  readonly effects: Effect[] = [];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[] = [];
  /** Outputs collected by this decision, in order. */
  readonly collected: { readonly slot: Slot; readonly time: number }[] = [];
  /** What waits for money is to be said (again). */
  awaiting = false;
  readonly #table: SlotTable;
  readonly #changes = new Map<number, Slot>();
  #active: number;
  #placed: number;
  #failures: number;
  #attempts: number;
  #completed: number;
  #next: number;

  constructor(
    self: Address,
    job: Job,
    kept: JobPrivate | undefined,
    table: SlotTable,
    { now, prices }: Pick<DecisionContext, 'now' | 'prices'>,
  ) {
    const labels = (index: number): Readonly<Record<string, string>> => jobLabels(job.metadata.name, index);
    const termsBy = (book?: PriceBook): string => showAdmitted(limitsOf(job.spec.resources), book);
    this.owner = {
      self,
      object: job,
      labels,
      wantsProof: false,
      terms: () => this.private.terms ?? termsBy(),
      payer: () => payerOf(self, job.metadata, this.private.payer),
    };
    this.job = job;
    this.image = job.status.image;
    this.private = kept ?? { terms: termsBy(prices), ...FRESH };
    this.#table = table;
    this.now = now;
    this.#active = table.active.size;
    this.#placed = table.placed;
    this.#failures = table.failures;
    this.#attempts = table.attempts;
    this.#completed = table.completed.size;
    this.#next = table.next;
  }

  get active(): number {
    return this.#active;
  }

  get placed(): number {
    return this.#placed;
  }

  get failures(): number {
    return this.#failures;
  }

  get attempts(): number {
    return this.#attempts;
  }

  get completed(): number {
    return this.#completed;
  }

  get next(): number {
    return this.#next;
  }

  slot(index: number): Slot | undefined {
    return this.#changes.get(index) ?? this.#table.slot(index);
  }

  put(slot: Slot): void {
    const before = this.slot(slot.index);
    if (before !== undefined) this.#weigh(before, -1);
    this.#weigh(slot, 1);
    this.#changes.set(slot.index, slot);
    if (slot.index >= this.#next) this.#next = slot.index + 1;
  }

  keep(change: Partial<JobPrivate>): void {
    this.private = { ...this.private, ...change };
  }

  changes(): readonly Slot[] {
    return [...this.#changes.values()];
  }

  /** Indexes whose Attempt has not ended, as they are after the changes so far. */
  *activeSlots(): Generator<Slot> {
    for (const index of this.#table.active) {
      const slot = this.slot(index);
      if (slot?.phase === 'Active') yield slot;
    }
    for (const slot of this.#changes.values()) {
      if (slot.phase === 'Active' && !this.#table.active.has(slot.index)) yield slot;
    }
  }

  /** Waiting slots: those of the table by their time, then those that this decision made. */
  *waitingSlots(): Generator<Slot> {
    for (const { index } of this.#table.waiting) {
      if (this.#changes.has(index)) continue;
      const slot = this.#table.slot(index);
      if (slot !== undefined) yield slot;
    }
    for (const slot of this.#changes.values()) if (slot.phase === 'Waiting') yield slot;
  }

  /** `1,3-5,7`, or undefined when there is none. */
  indexes(phase: 'Succeeded' | 'Failed'): string | undefined {
    const set = phase === 'Succeeded' ? this.#table.completed : this.#table.failed;
    const added = this.changes().filter((slot) => slot.phase === phase);
    if (added.length === 0) return set.text() || undefined;
    // The text has as many parts as there are gaps, which parallelism and backoffLimit bound.
    const grown = IndexSet.parse(set.text()) ?? new IndexSet();
    for (const slot of added) grown.add(slot.index);
    return grown.text();
  }

  #weigh(slot: Slot, sign: 1 | -1): void {
    this.#failures += sign * slot.failures;
    this.#attempts += sign * slot.epoch;
    if (slot.phase === 'Succeeded') this.#completed += sign;
    if (slot.phase !== 'Active') return;
    this.#active += sign;
    if (slot.detail.placed === true) this.#placed += sign;
  }
}
