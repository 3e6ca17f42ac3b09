/**
 * One decision of an object that makes others, while it is being made: its table as it is, the slots that this decision changes, and the
 * effects gathered so far. The table itself is not touched; the changes become rows of the decision's commit.
 */
import type { Address } from '../../api/address.js';
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import { payerOf, type AdmittedPayer } from '../attempts/payer.js';
import type { Payer } from '../../money/payer.js';
import type { Effect, LaterEffect } from '../effect.js';
import { noCounts, weigh, type ChildCounts, type ChildSlot, type ChildTable, type DesiredState } from './slots.js';

/** How an owner that is ending will end, once none of its children is left. */
export interface ParentEnding {
  readonly phase: 'Failed' | 'Cancelled';
  readonly reason: string;
  readonly message: string;
}

/** Stored beside the owner and never served. Times are in ms since the epoch. */
export interface ParentPrivate {
  /** Timers that are armed, and for when. */
  readonly timers: Readonly<Record<string, number>>;
  /** When the first child started. */
  readonly startedAt?: number | undefined;
  readonly finishedAt?: number | undefined;
  readonly ending?: ParentEnding | undefined;
  /** Who pays, as admitted. Absent: it was created before there were prices. */
  readonly payer?: AdmittedPayer | undefined;
  /** Rates up to which its client has agreed that each part of its work may cost: one for all children, or one for each. */
  readonly agreed?: readonly string[] | undefined;
  /** Its children have cost what they may together. */
  readonly capped?: boolean | undefined;
  /** A Budget or the wallet has refused children. */
  readonly funding?: ParentFunding | undefined;
}

export interface ParentFunding {
  /** When an event told of it last (ms). */
  readonly toldAt: number;
  /** Lost: children wait, and an event has told so. Quiet: they wait, and the last event was too close. Restored: none waits. */
  readonly state: 'Lost' | 'Quiet' | 'Restored';
}

export const FRESH_PARENT: ParentPrivate = { timers: {} };

/** One child as its owner asks for it. */
export interface ChildPlan {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly spec: unknown;
}

/** What the kind of the owner says of its children, by index. */
export interface ChildSet {
  readonly kind: 'Job';
  /** How many children it has in all. */
  readonly total: number;
  name(index: number): string;
  /** As messages for people call it: `cell 3`. */
  label(index: number): string;
  /** The index of the child of this name; undefined when there is none. */
  indexOf(name: string): number | undefined;
  plan(index: number, draft: ParentDraft): ChildPlan;
}

/** What every owner has, whatever its kind. */
export type Parent = ApiObject<{ readonly state: DesiredState; readonly maxCostUSD?: string | undefined }>;

export class ParentDraft<Kept extends ParentPrivate = ParentPrivate> {
  readonly self: Address;
  readonly metadata: ObjectMeta;
  readonly maxCostUSD: string | undefined;
  readonly children: ChildSet;
  readonly now: number;
  private: Kept;
  readonly effects: Effect[] = [];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[] = [];
  /** What waits for money is to be said (again). */
  awaiting = false;
  readonly #state: DesiredState;
  readonly #table: ChildTable;
  readonly #changes = new Map<number, ChildSlot>();
  readonly #counts = noCounts();
  #next: number;

  constructor(self: Address, parent: Parent, kept: Kept, children: ChildSet, table: ChildTable, now: number) {
    this.self = self;
    this.metadata = parent.metadata;
    this.#state = parent.spec.state;
    this.maxCostUSD = parent.spec.maxCostUSD;
    this.children = children;
    this.private = kept;
    this.now = now;
    this.#table = table;
    Object.assign(this.#counts.slots, table.counts.slots);
    Object.assign(this.#counts.live, table.counts.live);
    this.#next = table.next;
  }

  /** What is asked of its children: its own state, and rest once they have cost what they may. */
  get state(): DesiredState {
    return this.private.capped === true && this.#state === 'Running' ? 'Suspended' : this.#state;
  }

  /** Of its children. */
  payer(): Payer {
    return payerOf(this.self, this.metadata, this.private.payer);
  }

  get counts(): ChildCounts {
    return this.#counts;
  }

  /** Children that exist or are to be made again. */
  get open(): number {
    return this.#counts.slots.Active + this.#counts.slots.Waiting;
  }

  /** Children that are over. */
  get over(): number {
    const { Succeeded, Failed, Cancelled, Skipped } = this.#counts.slots;
    return Succeeded + Failed + Cancelled + Skipped;
  }

  /** The lowest index above all that have a slot. */
  get next(): number {
    return this.#next;
  }

  slot(index: number): ChildSlot | undefined {
    return this.#changes.get(index) ?? this.#table.slot(index);
  }

  /** Whether this decision has changed it. */
  isChanged(index: number): boolean {
    return this.#changes.has(index);
  }

  put(slot: ChildSlot): void {
    const before = this.slot(slot.index);
    if (before !== undefined) weigh(this.#counts, before, -1);
    weigh(this.#counts, slot, 1);
    this.#changes.set(slot.index, slot);
    if (slot.index >= this.#next) this.#next = slot.index + 1;
  }

  keep(change: Partial<ParentPrivate>): void {
    this.private = { ...this.private, ...change };
  }

  changes(): readonly ChildSlot[] {
    return [...this.#changes.values()];
  }

  /** Children of this phase that are not over, by index as they were begun. */
  *openSlots(phase: 'Active' | 'Waiting'): Generator<ChildSlot> {
    for (const index of this.#table.open) {
      const slot = this.slot(index);
      if (slot?.phase === phase) yield slot;
    }
    for (const slot of this.#changes.values())
      if (slot.phase === phase && !this.#table.open.has(slot.index)) yield slot;
  }
}
