/**
 * Rows of effects that found no room in memory (I10): they and all newer ones stay in storage, so that lanes keep their order, and
 * are read from there, oldest first, as soon as there is room.
 */
import type { Pending, StoredEffects } from '../../storage/store.js';
import { delay } from '../wait.js';

export interface LeftRows {
  /** Some row was left: what is newer has to be left as well. */
  readonly any: boolean;
  /** Leaves this row in storage. */
  leave(version: number): void;
  /** Leaves every row that is stored. */
  leaveAll(): void;
  /** Resolves when no row is left, or the memory is full again. Goes on when storage was away. */
  refill(): Promise<void>;
}

export interface LeftRowsDeps {
  readonly pending: Pick<Pending, 'effects'>;
  hasRoom(): boolean;
  /** Takes a page of rows into memory; it may have some of them already. */
  take(page: readonly StoredEffects[]): void;
  readonly stopping: AbortSignal;
}

/** Rows read from storage at once. */
export const PAGE_ROWS = 500;
/** Between two tries to read them. */
export const READ_AGAIN_MS = 1_000;

export function openLeftRows({ pending, hasRoom, take, stopping }: LeftRowsDeps): LeftRows {
  /** Rows from this version on were left in storage; undefined: none. */
  let from: number | undefined;
  /** The newest of them that is known here. */
  let newest = 0;
  let refilling: Promise<void> | undefined;

  async function read(): Promise<void> {
    while (from !== undefined && hasRoom() && !stopping.aborted) {
      const first = from;
      const known = newest;
      let page: readonly StoredEffects[];
      try {
        page = await pending.effects(first - 1, PAGE_ROWS);
      } catch {
        await delay(READ_AGAIN_MS, stopping);
        continue;
      }
      const last = page.at(-1)?.version ?? first - 1;
      // A row that was left while the page was being read may not be in it.
      const more = page.length === PAGE_ROWS || newest > Math.max(known, last);
      from = more ? last + 1 : undefined;
      take(page);
    }
  }

  return {
    get any() {
      return from !== undefined;
    },
    leave(version) {
      from = Math.min(from ?? version, version);
      newest = Math.max(newest, version);
    },
    leaveAll: () => void (from = 0),
    refill: () => (refilling ??= read().finally(() => (refilling = undefined))),
  };
}
