/**
 * What an owner asks of its children: to be made, to take its state, to say how they stand. Each request names one child, and all are
 * idempotent, so one that is repeated or late changes nothing.
 */
import { isObject } from '../../api/safe-value.js';
import { USD } from '../../money/usd.js';
import type { LaterEffect } from '../effect.js';
import type { ParentDraft } from './draft.js';
import type { ChildSlot, DesiredState } from './slots.js';

/** I8: to be called in the decision that stores the slot. Answers how long the request is, as JSON. */
export function startChild(draft: ParentDraft, index: number): number {
  const before = draft.slot(index);
  const { refusals, wait } = before?.detail ?? {};
  const detail = { ...(refusals !== undefined && { refusals }), ...(wait !== undefined && { wait }) };
  draft.put({ index, epoch: (before?.epoch ?? 0) + 1, phase: 'Active', failures: 0, detail });
  const request = makeChild(draft, index);
  draft.effects.push(request);
  return JSON.stringify(request).length;
}

export function makeChild(draft: ParentDraft, index: number): LaterEffect {
  const { children } = draft;
  const { spec, ...plan } = children.plan(index, draft);
  return {
    type: 'CreateChild',
    kind: children.kind,
    name: children.name(index),
    slot: index,
    payer: draft.payer(),
    ...plan,
    spec: withinAgreed(spec, draft.private.agreed, index),
  };
}

/** What the owner's client has agreed to binds each child, whenever that is made: above it the child is refused, and waits. */
function withinAgreed(spec: unknown, agreed: readonly string[] | undefined, index: number): unknown {
  const most = agreed?.length === 1 ? agreed[0] : agreed?.[index];
  if (most === undefined || !isObject(spec)) return spec;
  const placement = isObject(spec['placement']) ? spec['placement'] : {};
  const own = placement['maxRateUSDPerHour'];
  const isLower = typeof own === 'string' && new USD(own).lte(most);
  return isLower ? spec : { ...spec, placement: { ...placement, maxRateUSDPerHour: most } };
}

/**
 * Every child that exists takes the owner's state, once: what a client asks of one child afterwards is left alone. `most`: so many may
 * have it at the same time, the first of them first; the others follow as those end.
 */
export function propagate(draft: ParentDraft, state: DesiredState, most: number = Number.POSITIVE_INFINITY): void {
  const active = [...draft.openSlots('Active')];
  const behind = active.filter(({ detail }) => (detail.asked ?? 'Running') !== state);
  const room = most - (active.length - behind.length);
  if (room <= 0) return;
  for (const slot of behind.slice(0, room)) {
    const { wait: _before, unheard: _answered, ...detail } = slot.detail;
    draft.put({ ...slot, detail: { ...detail, asked: state } });
    draft.effects.push(askState(draft, slot, state));
  }
}

function askState({ children }: ParentDraft, { index, detail }: ChildSlot, state: DesiredState): LaterEffect {
  const { kind } = children;
  return { type: 'PatchChild', kind, name: children.name(index), uid: detail.uid, spec: { state }, slot: index };
}

/** A state that could not be given to a child is given again. Stored, as the first time: what is not may overtake a later one. */
export function propagateAgain(draft: ParentDraft): void {
  const failed = [...draft.openSlots('Active')].filter(({ detail }) => detail.unheard === true);
  for (const slot of failed) askAgain(draft, slot);
}

export function askAgain(draft: ParentDraft, slot: ChildSlot): void {
  const { unheard: _again, ...detail } = slot.detail;
  draft.put({ ...slot, detail });
  draft.effects.push(askState(draft, slot, detail.asked ?? draft.state));
}

/** Says again what every open child should know: that it exists, and that it is asked. */
export function remind(draft: ParentDraft): void {
  for (const slot of draft.openSlots('Active')) {
    // One that has told something exists, or has been deleted since: its end will come.
    if (slot.detail.uid === undefined) draft.reminders.push(makeChild(draft, slot.index));
    draft.reminders.push(askChild(draft, slot));
  }
}

function askChild({ self, children }: ParentDraft, { index, detail }: ChildSlot): LaterEffect {
  const { org, project } = self;
  const to = { org, kind: children.kind, project, name: children.name(index) };
  return { type: 'Tell', to, uid: detail.uid, message: { type: 'ChildAsked' } };
}
