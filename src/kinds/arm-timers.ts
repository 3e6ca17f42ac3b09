/**
 * Arms the timers that a state wants: only the difference to those that are armed becomes effects, since each arming is a row. Pure.
 */
import type { CommitEffect } from './effect.js';

/** Name → due time in ms. */
export type Armed = Readonly<Record<string, number>>;

export interface TimerRules {
  /** It may fire early: what it means is looked at again then, so moving it later than `armedAt` is not worth a row. */
  lazy(timer: string, armedAt: number): boolean;
  /** It stays armed though nobody wants it now. */
  kept(timer: string): boolean;
}

export function armTimers(
  armed: Armed,
  wanted: Readonly<Record<string, number | undefined>>,
  rules: TimerRules,
): { readonly armed: Armed; readonly effects: readonly CommitEffect[] } {
  const after: Record<string, number> = { ...armed };
  const effects: CommitEffect[] = [];
  for (const [timer, at] of Object.entries(wanted)) {
    if (at === undefined) continue;
    const before = after[timer];
    if (before === at || (before !== undefined && rules.lazy(timer, before) && before < at)) continue;
    after[timer] = at;
    effects.push({ type: 'ArmTimer', timer, at });
  }
  for (const timer of Object.keys(after)) {
    if (wanted[timer] !== undefined || rules.kept(timer)) continue;
    delete after[timer];
    effects.push({ type: 'CancelTimer', timer });
  }
  return { armed: after, effects };
}
