/**
 * When a Sandbox or Workspace is busy, and when it has been idle for too long. Activity is what a client asks of it from outside;
 * its main command is none (decisions, "Small points").
 */
import { rfc3339 } from '../../api/time.js';
import type { ObjectMessage } from '../object-message.js';
import type { SingleAttemptDraft } from './draft.js';

type ActivitySeen = Extract<ObjectMessage, { type: 'ActivitySeen' }>;

/** What was said to be under way and is not said again within this has ended with its client: three of the client's minutes. */
const BUSY_LAPSE_MS = 3 * 60_000;

/** That it is still busy is worth a commit after so long (ms). */
const NEWS_MS = 30_000;

/** True when it is news. */
export function noteActivity(draft: SingleAttemptDraft, message: ActivitySeen): boolean {
  const { live } = draft;
  // I8: a server that still looks at an earlier epoch keeps nothing awake.
  if (live?.epoch !== message.epoch || live.phase !== 'Running' || live.stopping) return false;
  const { activeAt = 0, busyAt } = draft.private;
  const at = Math.min(message.at, draft.now);
  const sameBusy = (busyAt !== undefined) === message.busy;
  // An end is told once what is brief has rested: each counts, or it would be idle too early.
  if (sameBusy && at - activeAt < (message.busy ? NEWS_MS : 1)) return false;
  const latest = Math.max(activeAt, at);
  draft.keep({ activeAt: latest, busyAt: message.busy ? Math.max(busyAt ?? 0, at) : undefined });
  draft.say({ lastActivityTime: rfc3339(latest) });
  return true;
}

export function isBusy({ private: { busyAt }, now }: SingleAttemptDraft): boolean {
  return busyAt !== undefined && now < busyAt + BUSY_LAPSE_MS;
}

/** When it will have been idle for too long if nothing happens any more; undefined: never. */
export function idleAt(draft: SingleAttemptDraft): number | undefined {
  const { live } = draft;
  const { idleTimeoutMs: timeout, idleFrom = 0 } = draft.rules;
  if (timeout === undefined || live?.phase !== 'Running' || live.stopping) return undefined;
  const { activeAt = 0, busyAt } = draft.private;
  const due = Math.max(live.runningSince ?? 0, activeAt, idleFrom) + timeout;
  return busyAt === undefined ? due : Math.max(due, busyAt + BUSY_LAPSE_MS);
}

/** It has been idle for too long, and nothing ends it already. */
export function hasIdledOut(draft: SingleAttemptDraft): boolean {
  const due = idleAt(draft);
  return due !== undefined && due <= draft.now && draft.wanted;
}
