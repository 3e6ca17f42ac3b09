/**
 * Owns `spec.schedule`: when the machine starts and stops by itself. Each time is carried out once, also when the service was
 * down just then, and is known by its value: a new time is a new one. Whatever a client asks for before or after holds until
 * the next time comes. Source: spec, "Workspace".
 */
import { parseTime } from '../../api/time.js';
import type { WorkspaceDraft } from './draft.js';
import { SCHEDULE_LEAD_MS } from './policy.js';
import type { WorkspaceSpec } from './schema.js';

interface Times {
  readonly start: number | undefined;
  readonly stop: number | undefined;
}

function timesOf({ schedule }: WorkspaceSpec): Times {
  const readyBy = parseTime(schedule?.readyBy ?? '');
  return {
    start: readyBy === undefined ? undefined : readyBy - SCHEDULE_LEAD_MS,
    stop: parseTime(schedule?.stopAt ?? ''),
  };
}

/** One that is made with a time to be ready by waits for it, since it would run at once otherwise. */
export function waitForSchedule(draft: WorkspaceDraft): void {
  const { start } = timesOf(draft.object.spec);
  if (start !== undefined && start > draft.now && draft.state === 'Running') draft.keep({ waits: true });
}

/** What time has come is carried out; the start comes first, since it lies before the stop. */
export function reconcileSchedule(draft: WorkspaceDraft): void {
  const { start, stop } = timesOf(draft.object.spec);
  if (start !== undefined && start <= draft.now && draft.private.started !== start) {
    draft.keep({ started: start, waits: undefined, failure: undefined, lost: 0 });
    draft.state = 'Running';
  }
  if (stop !== undefined && stop <= draft.now && draft.private.stopped !== stop) {
    draft.keep({ stopped: stop });
    if (draft.state === 'Running')
      draft.stop('Schedule', `Stopped at schedule.stopAt ${draft.object.spec.schedule?.stopAt ?? ''}`);
  }
  // Stopped by its client, or without a time to wait for any more.
  if (draft.private.waits === true && (draft.state === 'Stopped' || start === undefined))
    draft.keep({ waits: undefined });
  draft.held = draft.private.waits === true;
}

/** When the schedule has to be looked at again. */
export function scheduleTimers(draft: WorkspaceDraft): Readonly<Record<'ready' | 'stopAt', number | undefined>> {
  const { start, stop } = timesOf(draft.object.spec);
  const { started, stopped } = draft.private;
  return { ready: start === started ? undefined : start, stopAt: stop === stopped ? undefined : stop };
}
