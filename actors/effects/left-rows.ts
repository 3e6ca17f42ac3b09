/**
 * Rows of effects that found no room in memory (I10): they and all newer ones of their group stay in storage, so that lanes keep their
 * order, and are read from there, oldest first, as soon as there is room. Groups are read beside each other, a page each in turn.
 *
 * Storage may have the row of a commit whose answer is still on its way to this process. Carried out then, its effects would find the objects
 * as they were before it: a start would take its Attempt for one that is over, and be done. So such a row is read again once it is published.
 */
import type { Pending, StoredEffects } from '../../storage/store.js';
import { delay } from '../wait.js';
import { groupKey, KINDS_OF_PLACES, type EffectGroup } from './room.js';

export interface LeftRows {
  /** Some row of this group was left: what is newer has to be left as well. */
  any(group: EffectGroup): boolean;
  /** Leaves this row of the group in storage. */
  leave(group: EffectGroup, version: number): void;
  /** Leaves every row that is stored. Resolves when it is known which groups have any. */
  leaveAll(): Promise<void>;
  /** Resolves when no row is left, or there is no room. Goes on when storage was away. */
  refill(): Promise<void>;
}

export interface LeftRowsDeps {
  readonly pending: Pick<Pending, 'effects' | 'effectsOrgs'>;
  mayRead(group: EffectGroup): boolean;
  /** Version of the newest commit that this process knows of. */
  published(): number;
  /** Takes a page of rows into memory; it may have some of them already. */
  take(page: readonly StoredEffects[]): void;
  readonly stopping: AbortSignal;
}

interface LeftGroup {
  readonly group: EffectGroup;
  /** Rows from this version on were left in storage. */
  from: number;
  /** The newest of them that is known here. */
  newest: number;
}

/** Rows read from storage at once. */
export const PAGE_ROWS = 500;
/** Between two tries to read them. */
export const READ_AGAIN_MS = 1_000;
/** Between two looks whether a commit is published: its answer is on its way. */
const LOOK_AGAIN_MS = 5;

export function openLeftRows({ pending, mayRead, published, take, stopping }: LeftRowsDeps): LeftRows {
  const groups = new Map<string, LeftGroup>();
  let refilling: Promise<void> | undefined;
  /** It is not known yet which groups have rows in storage. */
  let unknown = false;

  function leave(group: EffectGroup, version: number): void {
    const left = groups.get(groupKey(group));
    if (left === undefined) groups.set(groupKey(group), { group, from: version, newest: version });
    else {
      left.from = Math.min(left.from, version);
      left.newest = Math.max(left.newest, version);
    }
  }

  async function untilRead<T>(read: () => Promise<T>): Promise<T | undefined> {
    while (!stopping.aborted) {
      try {
        return await read();
      } catch {
        await delay(READ_AGAIN_MS, stopping);
      }
    }
    return undefined;
  }

  /** False: its next row is not published yet. */
  async function readPage(left: LeftGroup): Promise<boolean> {
    const { from: first, newest: before } = left;
    const { org, ofPlaces } = left.group;
    const of = { org, kinds: KINDS_OF_PLACES, among: ofPlaces };
    const read = await untilRead(() => pending.effects(first - 1, PAGE_ROWS, of));
    if (read === undefined) return true;
    const known = published();
    const page = read.filter(({ version }) => version <= known);
    const ahead = read[page.length];
    if (ahead !== undefined) {
      left.from = ahead.version;
      left.newest = Math.max(left.newest, ahead.version);
      take(page);
      return page.length > 0;
    }
    const last = page.at(-1)?.version ?? first - 1;
    // A row that was left while the page was being read may not be in it.
    if (page.length === PAGE_ROWS || left.newest > Math.max(before, last)) left.from = last + 1;
    else groups.delete(groupKey(left.group));
    take(page);
    return true;
  }

  async function readAll(): Promise<void> {
    for (let progress = true; progress && !stopping.aborted;) {
      progress = false;
      let waits = true;
      for (const left of [...groups.values()]) {
        if (!mayRead(left.group)) continue;
        if (await readPage(left)) waits = false;
        progress = true;
      }
      if (progress && waits) await delay(LOOK_AGAIN_MS, stopping);
    }
  }

  return {
    any: (group) => unknown || groups.has(groupKey(group)),
    leave,
    async leaveAll() {
      unknown = true;
      const stored = (await untilRead(() => pending.effectsOrgs(KINDS_OF_PLACES))) ?? [];
      for (const { org, among } of stored) leave({ org, ofPlaces: among }, 0);
      unknown = false;
    },
    refill: () => (refilling ??= readAll().finally(() => (refilling = undefined))),
  };
}
