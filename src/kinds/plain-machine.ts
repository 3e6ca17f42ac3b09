/**
 * The behaviour of kinds that have none of their own: the status stays and deletion lets the object go.
 * A kind decides its own rules first and falls back to `plain`.
 */
import type { Refusal } from '../api/refusal.js';
import { rfc3339 } from '../api/time.js';
import type { Effect } from './effect.js';
import type { Current, Decision, Machine, Message } from './machine.js';

/** These kinds keep no side state. */
export type PlainDecision<Status, Private = undefined> = Decision<Status, Private, never>;

type More<Status, Private> = Partial<
  Omit<Extract<PlainDecision<Status, Private>, { outcome: 'Next' }>, 'outcome' | 'status'>
>;

const NO_EFFECTS: readonly Effect[] = [];

/** This status, and nothing else changes but what is given. */
export function next<Status, Private = undefined>(
  status: Status,
  more: More<Status, Private> = {},
): PlainDecision<Status, Private> {
  return { outcome: 'Next', status, effects: NO_EFFECTS, ...more };
}

export const IGNORED = { outcome: 'Ignored' } as const;

export function refused(refusal: Refusal): { readonly outcome: 'Refused'; readonly refusal: Refusal } {
  return { outcome: 'Refused', refusal };
}

/** The least time between two notes of use, in ms: a busy key costs at most one commit a minute. */
const USE_NOTED_EVERY_MS = 60_000;

/** Whether a use at `time` (ms) is worth a note beside what the status says. */
export function isUseNews(status: { readonly lastUsedTime?: string | undefined }, time: number): boolean {
  const before = status.lastUsedTime === undefined ? 0 : Date.parse(status.lastUsedTime);
  return time - before >= USE_NOTED_EVERY_MS;
}

/** What follows from a `Used` message: `lastUsedTime`, unless it is as good as known already. */
export function noteUse<Status extends { readonly lastUsedTime?: string | undefined }, Private>(
  current: Current<unknown, Status, Private>,
  time: number,
): PlainDecision<Status, Private> {
  const { status } = current.object;
  if (!isUseNews(status, time)) return IGNORED;
  return next<Status, Private>({ ...status, lastUsedTime: rfc3339(time) });
}

/** What is left for a plain kind once its own rules have passed. */
export function plain<Spec, Status, Private>(
  current: Current<Spec, Status, Private>,
  message: Message,
): PlainDecision<Status, Private> {
  switch (message.type) {
    case 'Created':
    case 'Updated':
    case 'DeletionRequested':
      return next<Status, Private>(current.object.status);
    default:
      return IGNORED;
  }
}

/** The machine of a kind that has no rules of its own, or whose machinery is not built yet. */
export function plainMachine<Spec, Status>(): Machine<Spec, Status, undefined, undefined, never> {
  return { decide: (current, _side, message) => plain(current, message) };
}
