/**
 * The behaviour of a Workspace: takes each message into a draft, then lets `reconcile.ts` decide what follows.
 *
 *   Pending ─▶ Starting ─▶ Running ─▶ Stopping ─▶ Stopped ─▶ Pending … at the next epoch
 *      ▲          │           │ lost
 *      │          ▼           ▼
 *      │       Failed      Pending at the next epoch, from the home that was saved last
 *      └ waits for its schedule, its Volume or a place
 *
 * It has one Attempt at a time (`../single-attempt`), and before each the lease of its home (`lease.ts`). It is Stopped once the files
 * of its home are in the Volume, and goes, when it is deleted, only then.
 */
import type { Author } from '../../api/access/author.js';
import { equalJson } from '../../api/equal.js';
import type { Refusal } from '../../api/refusal.js';
import { parseTime } from '../../api/time.js';
import type { ObjectMessage } from '../object-message.js';
import type { Decision, Machine, Message } from '../machine.js';
import { refused } from '../plain-machine.js';
import { soleAttempt } from '../attempts/names.js';
import { dropAttempt } from '../attempts/requests.js';
import { forgetTimer } from '../attempts/decision.js';
import { decisionOf, stoppedBy } from '../single-attempt/draft.js';
import { remindAttempt, handleFailedEffect, handleMessage } from '../single-attempt/handle-messages.js';
import { admit, payForStart } from '../single-attempt/funding.js';
import { openDraft, SCHEDULE_LEAD_MS, type Workspace, type WorkspaceDraft, type WorkspacePrivate } from './state.js';
import { attemptEnded, isHeld, reconcile, waitForSchedule } from './reconcile.js';
import { remindVolume, takeLeaseFailure, takeLeaseMessage } from './lease.js';
import { reportStatus, toolsFound } from './report-status.js';
import type { WorkspaceSpec, WorkspaceStatus } from './schema.js';

type WorkspaceDecision = Decision<WorkspaceStatus, WorkspacePrivate, never>;
type Heard = Message<WorkspaceSpec, WorkspaceStatus>;

const IGNORED: WorkspaceDecision = { outcome: 'Ignored' };

export const workspaceMachine: Machine<WorkspaceSpec, WorkspaceStatus, WorkspacePrivate, undefined, never> = {
  decide(current, _side, message, context) {
    const { object } = current;
    if (isTooSoon(object, message, context.now)) return refused(tooSoon(object.metadata.name));
    if (isOver(object, message, context.now)) return refused(over(object.metadata.name));
    const draft = openDraft(current, context);
    const { epoch } = draft.private;
    admit(draft, message);
    if (!take(draft, message)) return IGNORED;
    const phase = reconcile(draft);
    payForStart(draft, message, epoch);
    return decisionOf(current, draft, reportStatus(draft, phase, context.endpoints), isHeld(draft));
  },
  // A stopped one may be started by its schedule at any time.
  isTerminal: () => false,
};

/** What a message changes by itself, before anything follows from it. False: it means nothing here. */
function take(draft: WorkspaceDraft, message: Heard): boolean {
  switch (message.type) {
    case 'Created':
      waitForSchedule(draft);
      return true;
    case 'Updated':
      takeUpdate(draft, message.before, message.by);
      return true;
    case 'DeletionRequested':
      return true;
    case 'Activated':
      remind(draft);
      return true;
    case 'TimerFired': {
      forgetTimer(draft, message.timer);
      if (message.timer === 'resync') remind(draft);
      if (message.timer === 'lease') askAgain(draft);
      return true;
    }
    case 'MessageReceived': {
      const { content, from } = message;
      return (
        takeTools(draft, content) ??
        takeLeaseMessage(draft, content, from) ??
        handleMessage(draft, content, from.address.name, (live, ended) => attemptEnded(draft, live, ended))
      );
    }
    case 'EffectFailed': {
      const { effect, reason } = message;
      return takeLeaseFailure(draft, effect, reason) ?? handleFailedEffect(draft, effect, reason, message.message);
    }
    default:
      return false; // an engine reports to Attempts, and a Workspace has no actions
  }
}

function takeUpdate(draft: WorkspaceDraft, before: Workspace, by: Author | undefined): void {
  const { spec } = draft.object;
  // Whatever was changed may have mended it, so it is tried again.
  if (!equalJson(spec, before.spec)) draft.keep({ failure: undefined, lost: 0, notBefore: undefined });
  if (spec.state === 'Stopped' && before.spec.state === 'Running') draft.stop('Requested', stoppedBy(by));
}

/** Undefined: the message is about something else. */
function takeTools(draft: WorkspaceDraft, message: ObjectMessage): boolean | undefined {
  if (message.type !== 'ToolsFound') return undefined;
  const { epoch, tools } = message;
  // I8: what was found in an earlier session says nothing of this one.
  if (draft.live?.epoch !== epoch || equalJson(toolsFound(draft), tools)) return false;
  draft.keep({ found: { epoch, tools } });
  return true;
}

function remind(draft: WorkspaceDraft): void {
  // Deleted, it does not wait for ever for a home that cannot be saved: its Attempt is given a last while.
  const gives = draft.deleting && draft.live?.unsaved === true;
  remindAttempt(draft, gives ? (epoch) => dropAttempt(draft.owner, soleAttempt(epoch)) : undefined);
  remindVolume(draft);
}

function askAgain(draft: WorkspaceDraft): void {
  const { lease } = draft.private;
  if (lease === undefined) return;
  draft.keep({ lease: { ...lease, since: draft.now } });
  remindVolume(draft);
}

/** A time that was far enough ahead when it was written may come near. */
function isTooSoon({ spec }: Workspace, message: Heard, now: number): boolean {
  const readyBy = spec.schedule?.readyBy;
  const written =
    message.type === 'Created' || (message.type === 'Updated' && message.before.spec.schedule?.readyBy !== readyBy);
  return written && readyBy !== undefined && (parseTime(readyBy) ?? 0) < now + SCHEDULE_LEAD_MS;
}

function tooSoon(name: string): Refusal {
  return invalidTime(name, 'readyBy', 'must be at least 15 minutes from now');
}

/** It would be stopped before it ran. One that runs is stopped at once by such a time. */
function isOver({ spec }: Workspace, message: Heard, now: number): boolean {
  const stopAt = spec.schedule?.stopAt;
  return message.type === 'Created' && stopAt !== undefined && (parseTime(stopAt) ?? 0) <= now;
}

function over(name: string): Refusal {
  const fix = 'Set spec.schedule.stopAt to a later time, or leave it out; spec.state: Stopped stops the Workspace now.';
  return { ...invalidTime(name, 'stopAt', 'must be in the future'), fix };
}

function invalidTime(name: string, time: 'readyBy' | 'stopAt', message: string): Refusal {
  const field = `spec.schedule.${time}`;
  return {
    code: 'Invalid',
    message: `Workspace "${name}" is invalid: ${field}: ${message}`,
    causes: [{ field, message, reason: 'FieldValueInvalid' }],
  };
}
