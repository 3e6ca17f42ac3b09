/**
 * Remembers the effects whose target waits for an operator: of each such target the versions of their rows, which stay in storage.
 * The runner keeps one effect per target in hand, as a probe of whether the target is back.
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
  /** The target of this effect, when it waits. */
  of(row: StoredEffects, effect: LaterEffect): DeferredTarget | undefined;
  /** The target waits; `probe` is what asks for it again. */
  open(probe: EffectTask): DeferredTarget;
  leave(target: DeferredTarget, version: number): void;
  take(target: DeferredTarget, version: number): void;
  /** Nothing is left for it any more. */
  close(probe: EffectTask): void;
  /** Some effect of this row is left for its target, so the row must stay in storage. */
  holds(row: StoredEffects): boolean;
}

export function openDeferredEffects(): DeferredEffects {
  const targets = new Map<string, DeferredTarget>();
  let behind = 0;
  const of: DeferredEffects['of'] = (row, effect) =>
    targets.size === 0 ? undefined : targets.get(deferredKey({ row, effect }));
  return {
    get full() {
      return behind >= MOST_BEHIND;
    },
    of,
    open(probe) {
      const key = deferredKey(probe);
      const target = targets.get(key) ?? { versions: new Set(), probe, turn: 0 };
      target.probe = probe;
      target.turn += 1;
      targets.set(key, target);
      return target;
    },
    leave(target, version) {
      if (!target.versions.has(version)) behind += 1;
      target.versions.add(version);
    },
    take(target, version) {
      if (target.versions.delete(version)) behind -= 1;
    },
    close: (probe) => void targets.delete(deferredKey(probe)),
    holds: (row) =>
      targets.size > 0 && row.effects.some((effect) => of(row, effect)?.versions.has(row.version) === true),
  };
}

/** All that send to one object wait for one target; what an object does with its own is a target by itself. */
function deferredKey(task: EffectTask): string {
  const target = targetOf(task.row.address, task.effect);
  return target.includes('/') ? target : laneKey(task);
}
