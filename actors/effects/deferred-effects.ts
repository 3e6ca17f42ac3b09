/**
 * Owns what is known of effects whose target waits for an operator: of each such target the versions of their rows, which
 * stay in storage. One effect per target is kept in hand by the runner, as a probe of whether the target is back.
 *
 * I10: a version is a number, so that a million effects that wait take some 40 MB; `full` says that no more may be left.
 */
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { StoredEffects } from '../../storage/store.js';
import type { EffectTask } from './definition.js';
import { laneKey, targetOf } from './table.js';

const MOST_BEHIND = 1_000_000;

export interface DeferredTarget {
  readonly versions: Set<number>;
  /** Undefined while it is being read again: its target is back. */
  probe: EffectTask | undefined;
  /** Grows each time the target is found to wait, so that a reader of an earlier time stops. */
  turn: number;
}

export interface DeferredEffects {
  readonly full: boolean;
  /** The one of this effect's target, when that waits. */
  of(row: StoredEffects, effect: LaterEffect): DeferredTarget | undefined;
  /** The target waits; `probe` is what asks for it again. */
  open(probe: EffectTask): DeferredTarget;
  leave(shelf: DeferredTarget, version: number): void;
  take(shelf: DeferredTarget, version: number): void;
  /** Nothing is on it any more. */
  close(probe: EffectTask): void;
  /** Some effect of this row lies on a shelf, so the row must stay in storage. */
  holds(row: StoredEffects): boolean;
}

export function openDeferredEffects(): DeferredEffects {
  const shelves = new Map<string, DeferredTarget>();
  let behind = 0;
  const of: DeferredEffects['of'] = (row, effect) =>
    shelves.size === 0 ? undefined : shelves.get(shelfKey({ row, effect }));
  return {
    get full() {
      return behind >= MOST_BEHIND;
    },
    of,
    open(probe) {
      const key = shelfKey(probe);
      const shelf = shelves.get(key) ?? { versions: new Set(), probe, turn: 0 };
      shelf.probe = probe;
      shelf.turn += 1;
      shelves.set(key, shelf);
      return shelf;
    },
    leave(shelf, version) {
      if (!shelf.versions.has(version)) behind += 1;
      shelf.versions.add(version);
    },
    take(shelf, version) {
      if (shelf.versions.delete(version)) behind -= 1;
    },
    close: (probe) => void shelves.delete(shelfKey(probe)),
    holds: (row) =>
      shelves.size > 0 && row.effects.some((effect) => of(row, effect)?.versions.has(row.version) === true),
  };
}

/** Whoever sends to one object waits for it on one shelf; what an object does with its own is a shelf by itself. */
function shelfKey(task: EffectTask): string {
  const target = targetOf(task.row.address, task.effect);
  return target.includes('/') ? target : laneKey(task);
}
