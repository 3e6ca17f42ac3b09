/**
 * What the messages of and about children change in their owner's slots. A message is compared with the slot: one of a child that is over, of
 * another incarnation, or older than what was told before, changes nothing (I8).
 */
import { failureDelay } from '../attempts/back-off.js';
import { resyncLater } from '../attempts/decision.js';
import { parseCounter } from '../../money/counters.js';
import { sayWait, UNWOKEN_MS, waitAfter } from '../attempts/money-wait.js';
import type { Message } from '../machine.js';
import type { MessageSender, ObjectMessage } from '../object-message.js';
import { noteFunded, noteLost, reachCap, takeExhausted, takeMoney } from './caps.js';
import type { ParentDraft } from './draft.js';
import type { ChildEnd, ChildSlot, LivePhase } from './slots.js';

export type ChildChanged = Extract<ObjectMessage, { type: 'ChildChanged' }>;

/** Characters of a child's words that its owner repeats. */
const LONGEST_MESSAGE = 500;

/** Codes of a refused create that no later try mends. Others (a quota, paused admissions, no money) may pass. */
const LASTING: ReadonlySet<string> = new Set([
  ...['AlreadyExists', 'Invalid', 'FieldImmutable', 'Unsupported', 'BadRequest', 'NotFound', 'Forbidden'],
  ...['ImageNotFound', 'ImagePullFailed', 'SecretValueInEnv', 'RequestEntityTooLarge'],
]);

/** A start that money refused is asked for again after this also when nothing has woken it (ms). */
const UNSTARTED_MS = 60_000;

const LIVE: readonly LivePhase[] = ['Pending', 'Running', 'Suspended'];
const ENDS = ['Succeeded', 'Failed', 'Cancelled'] as const satisfies readonly ChildEnd[];

/** Each answers whether anything changed. */
export function takeChildMessage(draft: ParentDraft, from: MessageSender, message: ObjectMessage): boolean {
  switch (message.type) {
    case 'ChildChanged':
      return takeChange(draft, from, message);
    case 'ChildGone':
      return takeGone(draft, from.address.kind, from.address.name, message.uid);
    case 'MoneyFreed':
      return takeMoney(draft, message);
    case 'MoneyExhausted':
      return takeExhausted(draft, message);
    default:
      return false;
  }
}

function takeChange(draft: ParentDraft, from: MessageSender, change: ChildChanged): boolean {
  const slot = slotOf(draft, from.address.kind, from.address.name);
  if (slot === undefined) return false;
  const { detail } = slot;
  if (slot.phase !== 'Active') return takeCost(draft, slot, change) || stopStray(draft, slot, change);
  if (detail.uid !== undefined && detail.uid !== change.uid) return false; // I8
  const end = ENDS.find((phase) => phase === change.phase);
  const version = change.version ?? from.version;
  // An answer may be overtaken by a change. An end is never late.
  if (end === undefined && version <= (detail.version ?? 0)) return false;
  const told = {
    uid: change.uid,
    version,
    ...(detail.asked !== undefined && { asked: detail.asked }),
    ...(detail.unheard === true && { unheard: true, ...(detail.wait !== undefined && { wait: detail.wait }) }),
    ...(change.reason !== '' && { reason: change.reason }),
    ...(change.message !== '' && { message: change.message.slice(0, LONGEST_MESSAGE) }),
    ...(change.startedAt !== undefined && { startedAt: change.startedAt }),
  };
  noteStart(draft, change.startedAt);
  if (end === undefined) {
    const live = LIVE.find((phase) => phase === change.phase) ?? 'Pending';
    if (live === 'Suspended') reachCap(draft, change.capped);
    draft.put({ ...slot, detail: { ...told, live } });
    noteFunded(draft);
    return true;
  }
  const { asked: _asked, unheard: _unheard, wait: _wait, ...rest } = told;
  const units = change.units === undefined ? {} : { units: change.units };
  const rested = change.suspendedMs === undefined ? {} : { suspendedMs: change.suspendedMs };
  const cost = change.costUSD === undefined ? {} : { costUSD: change.costUSD };
  const endedAt = change.endedAt ?? draft.now;
  draft.put({ ...slot, phase: end, detail: { ...rest, endedAt, ...units, ...rested, ...cost } });
  noteFunded(draft);
  return true;
}

/** Of a child that is over: it is charged a last time after its end. */
function takeCost(draft: ParentDraft, slot: ChildSlot, { uid, costUSD }: ChildChanged): boolean {
  if (costUSD === undefined || slot.detail.uid !== uid || slot.detail.costUSD === costUSD) return false;
  draft.put({ ...slot, detail: { ...slot.detail, costUSD } });
  return true;
}

function noteStart(draft: ParentDraft, startedAt: number | undefined): void {
  if (startedAt === undefined || (draft.private.startedAt ?? Number.POSITIVE_INFINITY) <= startedAt) return;
  draft.keep({ startedAt });
}

/** A child that still lives although its slot is over, as one that was made again after its deletion: it goes. */
function stopStray(draft: ParentDraft, slot: ChildSlot, { phase, uid }: ChildChanged): boolean {
  if (slot.phase === 'Waiting' || slot.detail.uid === uid || ENDS.some((end) => end === phase)) return false;
  const { kind, name } = draft.children;
  draft.effects.push({ type: 'DeleteChild', kind, name: name(slot.index), uid });
  return true;
}

/** Only a client deletes a child of an owner that stands: what it was to do is not done, and is not begun again. */
function takeGone(draft: ParentDraft, kind: string, name: string, uid: string): boolean {
  const slot = slotOf(draft, kind, name);
  if (slot?.phase !== 'Active' || (slot.detail.uid ?? uid) !== uid) return false; // I8
  const { startedAt } = slot.detail;
  const message = `its ${kind} was deleted`;
  draft.put({
    ...slot,
    phase: 'Failed',
    detail: { uid, ...(startedAt !== undefined && { startedAt, endedAt: draft.now }), reason: 'Deleted', message },
  });
  return true;
}

export function takeChildFailure(
  draft: ParentDraft,
  { effect, reason, message, shortfall }: Extract<Message, { type: 'EffectFailed' }>,
): boolean {
  switch (effect.type) {
    case 'CreateChild': {
      const slot = slotOf(draft, effect.kind, effect.name);
      if (slot?.phase !== 'Active' || slot.detail.uid !== undefined) return false;
      const why = { reason, message: message.slice(0, LONGEST_MESSAGE) };
      if (LASTING.has(reason)) {
        draft.put({ ...slot, phase: 'Failed', detail: why });
        return true;
      }
      if (shortfall !== undefined) {
        const wait = waitAfter(shortfall, slot.detail.wait, { stopped: false, now: draft.now });
        const detail = { reason, message: sayWait(wait), wait, retryAt: draft.now + UNWOKEN_MS };
        draft.put({ ...slot, phase: 'Waiting', detail });
        noteLost(draft, shortfall.by, slot.index, why.message);
        draft.awaiting = true;
        return true;
      }
      const refusals = (slot.detail.refusals ?? 0) + 1;
      const retryAt = draft.now + failureDelay(refusals);
      draft.put({ ...slot, phase: 'Waiting', detail: { ...why, refusals, retryAt } });
      return true;
    }
    case 'PatchChild': {
      const slot = slotOf(draft, effect.kind, effect.name);
      // One that has ended or is gone says so itself.
      if (slot?.phase !== 'Active') return false;
      if (shortfall === undefined) {
        draft.put({ ...slot, detail: { ...slot.detail, unheard: true } });
        resyncLater(draft);
        return true;
      }
      // A client lets it go on: what others give back is for it as well. Below the owner's own cap all rest until that is raised.
      const stopped = parseCounter(shortfall.counter).of === 'Cost';
      const wait = waitAfter(shortfall, slot.detail.wait, { stopped, now: draft.now });
      draft.put({ ...slot, detail: { ...slot.detail, unheard: true, wait } });
      noteLost(draft, shortfall.by, slot.index, message.slice(0, LONGEST_MESSAGE));
      draft.awaiting = true;
      resyncLater(draft, UNSTARTED_MS);
      return true;
    }
    case 'Tell':
      if (slotOf(draft, effect.to.kind, effect.to.name)?.phase !== 'Active') return false;
      // Not there yet, or out of reach: it is asked again.
      resyncLater(draft);
      return true;
    default:
      return false;
  }
}

function slotOf(draft: ParentDraft, kind: string, name: string): ChildSlot | undefined {
  if (kind !== draft.children.kind) return undefined;
  const index = draft.children.indexOf(name);
  return index === undefined ? undefined : draft.slot(index);
}
