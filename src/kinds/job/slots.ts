/**
 * The table of a Job: one slot per index that was ever started, and what is counted over them.
 *
 * Indexes are started in order, so the slots are the indexes below `next` and nothing is kept for those above it. Every
 * change costs the same with 10,000 indexes as with ten: counts move by the difference between the old row and the new
 * one, and what is searched (waiting slots) is bounded by backoffLimit and parallelism, not by completions.
 *
 * I8: the epoch of a slot only grows; an index that has succeeded never leaves that phase (`apply` refuses both).
 */
import { IndexSet } from '../../api/ranges.js';
import { rfc3339 } from '../../api/time.js';
import type { MoneyWait } from '../attempts/money-wait.js';
import type { SideStateStore, SlotRow } from '../machine.js';
import type { JobOutput } from './status.js';

export type SlotPhase =
  /** An Attempt of this epoch exists, or is being made. */
  | 'Active'
  /** The index is to be run again at the next epoch, from `retryAt` on. */
  | 'Waiting'
  | 'Succeeded'
  /** It will not be tried again. */
  | 'Failed';

const PHASES: readonly SlotPhase[] = ['Active', 'Waiting', 'Succeeded', 'Failed'];

/** One collected output, as the slot keeps it. */
export interface SlotOutput {
  readonly name: string;
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
  /** It was a directory: the blob is its tar.zst. */
  readonly directory?: boolean | undefined;
}

export interface SlotDetail {
  /** Active: its Attempt has had a place. */
  readonly placed?: boolean | undefined;
  /** Attempts of this index whose capacity was lost. */
  readonly lost?: number | undefined;
  /** The last Attempt ended by lost capacity; its replacement brings `job.restored`. */
  readonly replaces?: boolean | undefined;
  /** Waiting: not before this time, in ms since the epoch. */
  readonly retryAt?: number | undefined;
  /** Money was refused, and it has had no place since. */
  readonly wait?: MoneyWait | undefined;
  /** Why the last Attempt ended. */
  readonly reason?: string | undefined;
  readonly outputs?: readonly SlotOutput[] | undefined;
  /** Succeeded: when, in ms since the epoch. */
  readonly time?: number | undefined;
}

/** A row of the table. `failures` counts the customer's failures of this index. */
export interface Slot extends SlotRow {
  readonly phase: SlotPhase;
  readonly detail: SlotDetail & Readonly<Record<string, unknown>>;
}

interface Waiting {
  readonly index: number;
  readonly retryAt: number;
}

export class SlotTable {
  readonly #slots = new Map<number, Slot>();
  readonly #active = new Set<number>();
  /** By `retryAt`, then index. */
  readonly #waiting: Waiting[] = [];
  readonly #completed = new IndexSet();
  readonly #failed = new IndexSet();
  #placed = 0;
  #failures = 0;
  #attempts = 0;
  #next = 0;

  slot(index: number): Slot | undefined {
    return this.#slots.get(index);
  }

  /** The lowest index that was never started. */
  get next(): number {
    return this.#next;
  }

  /** Indexes with an Attempt that has not ended. */
  get active(): ReadonlySet<number> {
    return this.#active;
  }

  /** How many of the active ones have had a place. */
  get placed(): number {
    return this.#placed;
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  get completed(): { readonly size: number; text(): string } {
    return this.#completed;
  }

  get failed(): { readonly size: number; text(): string } {
    return this.#failed;
  }

  /** Customer failures over all indexes. */
  get failures(): number {
    return this.#failures;
  }

  /** Attempts made: the sum of all epochs. */
  get attempts(): number {
    return this.#attempts;
  }

  slots(): IterableIterator<Slot> {
    return this.#slots.values();
  }

  apply(slot: Slot): void {
    const before = this.#slots.get(slot.index);
    if (before !== undefined) {
      // I8: no row takes an index back from success, or to an older epoch.
      if (before.phase === 'Succeeded' || slot.epoch < before.epoch) return;
      this.#forget(before);
    }
    this.#slots.set(slot.index, slot);
    this.#count(slot);
    if (slot.index >= this.#next) this.#next = slot.index + 1;
  }

  #count(slot: Slot): void {
    this.#failures += slot.failures;
    this.#attempts += slot.epoch;
    switch (slot.phase) {
      case 'Active':
        this.#active.add(slot.index);
        if (slot.detail.placed === true) this.#placed += 1;
        return;
      case 'Waiting': {
        const waiting = { index: slot.index, retryAt: slot.detail.retryAt ?? 0 };
        this.#waiting.splice(this.#positionOf(waiting), 0, waiting);
        return;
      }
      case 'Succeeded':
        this.#completed.add(slot.index);
        return;
      case 'Failed':
        this.#failed.add(slot.index);
    }
  }

  #forget(slot: Slot): void {
    this.#failures -= slot.failures;
    this.#attempts -= slot.epoch;
    switch (slot.phase) {
      case 'Active':
        this.#active.delete(slot.index);
        if (slot.detail.placed === true) this.#placed -= 1;
        return;
      case 'Waiting':
        this.#waiting.splice(this.#positionOf({ index: slot.index, retryAt: slot.detail.retryAt ?? 0 }), 1);
        return;
      case 'Failed':
        this.#failed.delete(slot.index);
        return;
      case 'Succeeded': // `apply` keeps it
    }
  }

  /** Where this entry is, or belongs. */
  #positionOf(sought: Waiting): number {
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#waiting[middle];
      if (found !== undefined && isBefore(found, sought)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.retryAt < b.retryAt || (a.retryAt === b.retryAt && a.index < b.index);
}

export const slotTableStore: SideStateStore<SlotTable, SlotRow> = {
  stored: true,
  open(rows) {
    const table = new SlotTable();
    for (const row of rows) table.apply(asSlot(row));
    return table;
  },
  apply(table, change) {
    table.apply(asSlot(change));
  },
};

/** A phase that this program does not know is one that a newer one wrote: such an index is not touched. */
function asSlot(row: SlotRow): Slot {
  return { ...row, phase: PHASES.find((phase) => phase === row.phase) ?? 'Failed', detail: row.detail ?? {} };
}

/** An output as the status shows it, and whether its blob is a directory's tar.zst. */
export type LocatedOutputEntry = JobOutput & { readonly directory?: boolean | undefined };

/** All outputs, by index and then as the Job declares them. */
export function jobOutputs(rows: Iterable<SlotRow>): readonly LocatedOutputEntry[] {
  return [...rows]
    .toSorted((a, b) => a.index - b.index)
    .flatMap((row) => outputsOf(row).map((output) => listed(row, output)));
}

export type LocatedOutput =
  | { readonly outcome: 'Found'; readonly output: LocatedOutputEntry }
  /** Several indexes have an output of this name, and none was asked for: code OutputIndexRequired. */
  | { readonly outcome: 'IndexRequired' }
  /** Code OutputNotFound. */
  | { readonly outcome: 'NotFound' };

/** Without an index: the only one there is. */
export function locateOutput(rows: Iterable<SlotRow>, name: string, index: number | undefined): LocatedOutput {
  const found: LocatedOutputEntry[] = [];
  for (const row of rows) {
    if (index !== undefined && row.index !== index) continue;
    for (const output of outputsOf(row)) if (output.name === name) found.push(listed(row, output));
  }
  const [first, second] = found;
  if (first === undefined) return { outcome: 'NotFound' };
  return second === undefined ? { outcome: 'Found', output: first } : { outcome: 'IndexRequired' };
}

function outputsOf(row: SlotRow): readonly SlotOutput[] {
  return row.phase === 'Succeeded' ? ((row.detail as SlotDetail | undefined)?.outputs ?? []) : [];
}

function listed(row: SlotRow, { name, size, sha256, directory }: SlotOutput): LocatedOutputEntry {
  const time = rfc3339((row.detail as SlotDetail | undefined)?.time ?? 0);
  return { name, index: row.index, size, sha256, time, directory };
}
