/** How an Attempt that runs is asked to stop: what asked for it, and when what is left is removed by force. */
import type { Effect } from '../effect.js';
import type { DecisionContext } from '../machine.js';
import { stopWork } from './effects.js';
import { next, UNSAVED_MS, type AttemptPrivate, type This, type Written } from './state.js';

/** Beyond the grace, how long the end of stopped work may take to be reported before it is removed by force. */
const STOP_SLACK_MS = 30_000;
export function beginStop(
  current: This,
  kept: AttemptPrivate,
  reason: string,
  graceSeconds: number,
  context: DecisionContext,
): Written {
  const { status, metadata } = current.object;
  if (kept.saving !== undefined) {
    // Nothing runs any more. Only a deletion does not wait for what cannot be saved.
    const given = kept.saving.error !== undefined && metadata.deletionTimestamp !== undefined;
    const effects: Effect[] = given ? [{ type: 'ArmTimer', timer: 'stop', at: context.now + UNSAVED_MS }] : [];
    return next({ status, private: { ...kept, stopping: kept.stopping ?? reason }, effects });
  }
  const at = context.now + graceSeconds * 1000 + STOP_SLACK_MS;
  return next({
    status,
    private: { ...kept, stopping: reason },
    effects: [stopWork(current, graceSeconds), { type: 'ArmTimer', timer: 'stop', at }],
  });
}
