/** Owns what a Workspace decides by the clock: `schedule.readyBy` leaves the time that a machine needs. Source: spec, "Workspace". */
import type { Refusal } from '../../api/refusal.js';
import { parseTime } from '../../api/time.js';
import type { Machine } from '../machine.js';
import { plain, refused } from '../plain-machine.js';
import type { WorkspaceSpec, WorkspaceStatus } from './schema.js';

/** The machine is started so long before it must be ready. */
export const SCHEDULE_LEAD_MS = 15 * 60_000;

export const workspaceMachine: Machine<WorkspaceSpec, WorkspaceStatus, undefined, undefined, never> = {
  decide(current, _book, message, moment) {
    const { name } = current.object.metadata;
    const readyBy = current.object.spec.schedule?.readyBy;
    const written =
      message.type === 'Created' ||
      // A time that was far enough ahead when it was written may come near.
      (message.type === 'Updated' && message.before.spec.schedule?.readyBy !== readyBy);
    if (written && readyBy !== undefined && (parseTime(readyBy) ?? 0) < moment.now + SCHEDULE_LEAD_MS) {
      return refused(tooSoon(name));
    }
    return plain(current, message);
  },
};

function tooSoon(name: string): Refusal {
  const message = 'must be at least 15 minutes from now';
  return {
    code: 'Invalid',
    message: `Workspace "${name}" is invalid: spec.schedule.readyBy: ${message}`,
    causes: [{ field: 'spec.schedule.readyBy', message, reason: 'FieldValueInvalid' }],
  };
}
