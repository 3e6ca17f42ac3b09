/**
 * The table of an object that makes others: one slot per child that was ever asked for, and what is counted over them. A child that was never
 * asked for has no slot, so an owner of 10,000 children costs rows as they begin, not at its birth, and each change costs the same however
 * many there are.
 *
 * I8: a child that is over never leaves its last phase (`apply` refuses it); what it has cost is told later.
 */
import type { MoneyWait } from '../attempts/money-wait.js';
import type { SideStateStore, SlotRow } from '../machine.js';

export const CHILD_ENDS = ['Succeeded', 'Failed', 'Cancelled', 'Skipped'] as const;

/** How a child is over. Skipped: it was never made, since what it needed failed. */
export type ChildEnd = (typeof CHILD_ENDS)[number];

export type ChildSlotPhase =
  /** It exists, or is being made. */
  | 'Active'
  /** Its create was refused; it is tried again at `retryAt`. */
  | 'Waiting'
  | ChildEnd;

const PHASES: readonly ChildSlotPhase[] = ['Active', 'Waiting', ...CHILD_ENDS];

/** What a child that is not over does, as it last told. */
export type LivePhase = 'Pending' | 'Running' | 'Suspended';

/** What an owner's `spec.state` asks of its children. */
export type DesiredState = 'Running' | 'Suspended' | 'Cancelled';

export interface ChildDetail {
  /** Its incarnation, once it has told something. */
  readonly uid?: string | undefined;
  /** resourceVersion of the state that it told last: what is older means nothing. */
  readonly version?: number | undefined;
  /** Active: absent until it has told. */
  readonly live?: LivePhase | undefined;
  /** Active: what was asked of it last; absent: Running. */
  readonly asked?: DesiredState | undefined;
  /** Active: what was asked last could not be given to it, and is asked again. */
  readonly unheard?: boolean | undefined;
  /** Waiting, or Active and unheard: money has refused its create, or its start. */
  readonly wait?: MoneyWait | undefined;
  /** Why it waits or how it ended, in its own words. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** ms since the epoch. */
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Of the time between them, how long it was suspended, in ms. */
  readonly suspendedMs?: number | undefined;
  /** Units of work that it says it has done. */
  readonly units?: number | undefined;
  /** USD: what it has cost, once nothing more will be charged. */
  readonly costUSD?: string | undefined;
  /** Creates that were refused in a row. */
  readonly refusals?: number | undefined;
  /** Waiting: not before this time, in ms since the epoch. */
  readonly retryAt?: number | undefined;
}

/** A row of the table. */
export interface ChildSlot extends SlotRow {
  readonly phase: ChildSlotPhase;
  readonly detail: ChildDetail & Readonly<Record<string, unknown>>;
}

/** How many children there are of each sort. `live` is of those that are Active. */
export interface ChildCounts {
  readonly slots: Readonly<Record<ChildSlotPhase, number>>;
  readonly live: Readonly<Record<LivePhase, number>>;
}

type Mutable<Counts> = { -readonly [Key in keyof Counts]: Counts[Key] };

export function noCounts(): { slots: Mutable<ChildCounts['slots']>; live: Mutable<ChildCounts['live']> } {
  return {
    slots: { Active: 0, Waiting: 0, Succeeded: 0, Failed: 0, Cancelled: 0, Skipped: 0 },
    live: { Pending: 0, Running: 0, Suspended: 0 },
  };
}

export function weigh(counts: ReturnType<typeof noCounts>, { phase, detail }: ChildSlot, sign: 1 | -1): void {
  counts.slots[phase] += sign;
  if (phase === 'Active') counts.live[detail.live ?? 'Pending'] += sign;
}

export function isOver(slot: Pick<ChildSlot, 'phase'>): boolean {
  return slot.phase !== 'Active' && slot.phase !== 'Waiting';
}

/** It is to be made: it has not told anything yet. */
export function isAwaited({ phase, detail }: ChildSlot): boolean {
  return phase === 'Active' && detail.uid === undefined;
}

/** This is what its owner asks of it last. */
export function isAsked({ phase, detail }: ChildSlot, { state }: { readonly state?: unknown }): boolean {
  return phase === 'Active' && (detail.asked ?? 'Running') === state;
}

export class ChildTable {
  readonly counts = noCounts();
  readonly #slots = new Map<number, ChildSlot>();
  /** Indexes of children that are Active or Waiting; few, since the owner's window bounds them. */
  readonly #open = new Set<number>();
  #next = 0;

  slot(index: number): ChildSlot | undefined {
    return this.#slots.get(index);
  }

  /** The lowest index above all that have a slot. */
  get next(): number {
    return this.#next;
  }

  get open(): ReadonlySet<number> {
    return this.#open;
  }

  slots(): IterableIterator<ChildSlot> {
    return this.#slots.values();
  }

  apply(slot: ChildSlot): void {
    const before = this.#slots.get(slot.index);
    if (before !== undefined) {
      if (isOver(before) && before.phase !== slot.phase) return; // I8
      weigh(this.counts, before, -1);
    }
    this.#slots.set(slot.index, slot);
    weigh(this.counts, slot, 1);
    if (isOver(slot)) this.#open.delete(slot.index);
    else this.#open.add(slot.index);
    if (slot.index >= this.#next) this.#next = slot.index + 1;
  }
}

/** A phase that this program does not know is one that a newer one wrote: such a child is not touched. */
export function asChildSlot(row: SlotRow): ChildSlot {
  return { ...row, phase: PHASES.find((phase) => phase === row.phase) ?? 'Failed', detail: row.detail ?? {} };
}

export const childTableStore: SideStateStore<ChildTable, SlotRow> = {
  stored: true,
  open(rows) {
    const table = new ChildTable();
    for (const row of rows) table.apply(asChildSlot(row));
    return table;
  },
  apply(table, change) {
    table.apply(asChildSlot(change));
  },
};
