/**
 * What money does to an object that makes others: the cost cap that its children share, and children that money has refused. Once a child was
 * stopped since the cap is reached, or nothing is held below it that could be given back, all children rest; raising it lets them go on
 * (spec, "States and transitions": Sweep). A first hold that finds no room waits. What each child may cost by itself is its own cap.
 */
import { costCounter, parseCounter } from '../../money/counters.js';
import type { CostLimit } from '../../money/limits.js';
import type { HoldRefusal } from '../../money/operation.js';
import { USD } from '../../money/usd.js';
import { awaitMoney, isStopped } from '../attempts/money-wait.js';
import type { LaterEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { ObjectMessage } from '../object-message.js';
import type { ParentDraft } from './draft.js';
import { askAgain } from './requests.js';
import type { ChildSlot } from './slots.js';

export function setCap(draft: ParentDraft, before: string | undefined): void {
  const { maxCostUSD, metadata } = draft;
  if (maxCostUSD === before) return;
  const { uid } = metadata;
  draft.effects.push({ type: 'Money', operation: { op: 'SetCap', uid, limitUSD: maxCostUSD } });
  draft.keep({ capped: undefined });
  // Whether there is room for them is seen when they are tried.
  for (const slot of waitingOn(draft, costCounter(uid))) tryAgain(draft, slot);
}

/** Of whichever object; one that is raised by now is not reached. */
export function reachCap(draft: ParentDraft, cap: CostLimit | undefined): void {
  const { maxCostUSD, metadata } = draft;
  if (cap?.uid !== metadata.uid || maxCostUSD === undefined || draft.private.capped === true) return;
  if (new USD(maxCostUSD).gt(cap.limitUSD)) return;
  draft.keep({ capped: true });
  const type = draft.self.kind === 'Sweep' ? 'sweep.max_cost_reached' : 'pipeline.max_cost_reached';
  draft.effects.push(emit(type, `maxCostUSD, ${maxCostUSD} USD, left too little for its Jobs to go on`));
}

/** There is money for so many of the children that wait on the counter. */
export function takeMoney(draft: ParentDraft, freed: Extract<ObjectMessage, { type: 'MoneyFreed' }>): boolean {
  const due = waitingOn(draft, freed.counter)
    .filter(({ detail: { wait } }) => wait !== undefined && isStopped(wait) === freed.stopped)
    .slice(0, freed.count);
  for (const slot of due) tryAgain(draft, slot);
  return due.length > 0;
}

/** Nothing is held on the counter that could be given back. */
export function takeExhausted(
  draft: ParentDraft,
  { counter, limitUSD }: Extract<ObjectMessage, { type: 'MoneyExhausted' }>,
): boolean {
  const { uid } = draft.metadata;
  if (counter !== costCounter(uid) || waitingOn(draft, counter).length === 0) return false;
  reachCap(draft, { uid, limitUSD });
  return true;
}

/** A create is due; a start that was refused is asked for again. */
function tryAgain(draft: ParentDraft, slot: ChildSlot): void {
  if (slot.phase === 'Active') askAgain(draft, slot);
  else draft.put({ ...slot, detail: { ...slot.detail, retryAt: draft.now } });
}

/** A client lets the owner go on: what money had refused before is tried with what there is by now, and waits anew when that is too little. */
export function tryWaiting(draft: ParentDraft): void {
  for (const slot of [...draft.openSlots('Waiting')]) if (slot.detail.wait !== undefined) tryAgain(draft, slot);
}

/** Least time between two events of an owner that tell that money was refused, ms: in tight money each of its children may be. */
const LOST_EVERY_MS = 60_000;

/** A child was refused; `message` is of that moment. A cap that leaves too little for another child has an event once it is reached. */
export function noteLost(draft: ParentDraft, by: HoldRefusal['by'], index: number, message: string): void {
  const { toldAt = -Infinity, state = 'Restored' } = draft.private.funding ?? {};
  if (by === 'Cap' || state !== 'Restored') return;
  if (draft.now - toldAt < LOST_EVERY_MS) return draft.keep({ funding: { toldAt, state: 'Quiet' } });
  draft.keep({ funding: { toldAt: draft.now, state: 'Lost' } });
  const type = draft.self.kind === 'Sweep' ? 'sweep.funding_lost' : 'pipeline.funding_lost';
  draft.effects.push(emit(type, `${draft.children.label(index)}: ${message}`));
}

/** A child has its money. */
export function noteFunded(draft: ParentDraft): void {
  const { funding } = draft.private;
  if (funding === undefined || funding.state === 'Restored' || unfundedSlot(draft) !== undefined) return;
  draft.keep({ funding: { ...funding, state: 'Restored' } });
  const type = draft.self.kind === 'Sweep' ? 'sweep.funding_restored' : 'pipeline.funding_restored';
  if (funding.state === 'Lost') draft.effects.push(emit(type, 'there is money for its Jobs again'));
}

/** The first child that waits for a Budget or the wallet. */
export function unfundedSlot(draft: ParentDraft): ChildSlot | undefined {
  for (const phase of ['Waiting', 'Active'] as const)
    for (const slot of draft.openSlots(phase)) {
      const { wait } = slot.detail;
      if (wait !== undefined && parseCounter(wait.counter).of !== 'Cost') return slot;
    }
  return undefined;
}

/** In the order in which they began to wait. */
function waitingOn(draft: ParentDraft, counter: string): ChildSlot[] {
  return unpaid(draft)
    .filter(({ detail }) => detail.wait?.counter === counter)
    .toSorted((a, b) => (a.detail.wait?.since ?? 0) - (b.detail.wait?.since ?? 0) || a.index - b.index);
}

function unpaid(draft: ParentDraft): ChildSlot[] {
  const active = [...draft.openSlots('Active')].filter(({ detail }) => detail.unheard === true);
  return [...draft.openSlots('Waiting'), ...active].filter(({ detail }) => detail.wait !== undefined);
}

/** What waits, for the one who wakes it. */
export function moneyWaits(draft: ParentDraft): readonly LaterEffect[] {
  return draft.awaiting ? awaitMoney(unpaid(draft).flatMap(({ detail: { wait } }) => wait ?? [])) : [];
}
