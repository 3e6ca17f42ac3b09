/**
 * The draft of one commit: the object as the decisions of a fold leave it, and everything that they asked for.
 * Pure bookkeeping between `decide` and `commit-request.ts`; nothing here reads a clock or touches the world.
 */
import type { Address } from '../../src/api/address.js';
import { equalJson } from '../../src/api/equal.js';
import type { ApiObject } from '../../src/api/object.js';
import type { CommitEffect, Effect, LaterEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { awaitsFinalCost, showCost } from '../../src/kinds/cost-status.js';
import { isHeldByClient, onDeleted, lifecycle, tellFormerParent, tellParent } from '../../src/kinds/lifecycle.js';
import type { Message, DecisionContext, SlotRow } from '../../src/kinds/machine.js';
import type { Refusal } from '../../src/api/refusal.js';
import { isLater } from '../effects/commit-effects.js';

export interface Draft {
  readonly address: Address;
  /** resourceVersion of the state that it began with; 0: there is none yet. */
  readonly version: number;
  object: ApiObject;
  private: unknown;
  privateChanged: boolean;
  readonly sideState: unknown;
  readonly later: LaterEffect[];
  readonly atCommit: CommitEffect[];
  readonly slots: SlotRow[];
  /** Sent after the fold, stored nowhere. */
  readonly volatile: LaterEffect[];
  readonly clearedTimers: { readonly timer: string; readonly generation: number }[];
  reveal: Readonly<Record<string, unknown>> | undefined;
  gone: boolean;
}

export function openDraft(
  address: Address,
  version: number,
  object: ApiObject,
  privateState: unknown,
  sideState: unknown,
): Draft {
  return {
    address,
    version,
    object,
    private: privateState,
    privateChanged: false,
    sideState,
    later: [],
    atCommit: [],
    slots: [],
    volatile: [],
    clearedTimers: [],
    reveal: undefined,
    gone: false,
  };
}

/** Lets lifecycle and machine decide one message over the draft. The caller throws a refused draft away. */
export function applyMessage(
  draft: Draft,
  kind: KindDefinition,
  message: Message,
  context: DecisionContext,
): Refusal | undefined {
  if (draft.gone) return undefined;
  if (message.type === 'MessageReceived' && message.content.type === 'CostChanged') {
    const before = draft.object;
    draft.object = showCost(before, kind, message.content.cost);
    // Its owner hears what it has cost in the end.
    tellChange(draft, kind, message, before);
    return undefined;
  }
  if (message.type === 'TimerFired') draft.clearedTimers.push({ timer: message.timer, generation: message.generation });
  const step = lifecycle(draft.object, message);
  if (step.finalizers !== undefined) setFinalizers(draft, step.finalizers);
  // One look for the children that are left does for a fold of many that have gone.
  for (const effect of step.effects)
    if (!draft.later.some((asked) => asked.type === effect.type && equalJson(asked, effect))) draft.later.push(effect);
  // Its children are gone, and only a client's finalizer holds it now: the machine has to end what is left.
  const heldNow = step.consumed && step.finalizers !== undefined && isHeldByClient(draft.object.metadata);
  if (!step.consumed || heldNow) {
    const before = draft.object;
    const seen: Message = heldNow ? { type: 'DeletionRequested' } : message;
    const refusal = decideKind(draft, kind, seen, context);
    if (refusal) return refusal;
    tellChange(draft, kind, seen, before);
    askFinalCost(draft, kind);
  }
  settleDeletion(draft, kind);
  return undefined;
}

/** Asked again at the next start while it is not final (`commit-request.ts`), so it is stored nowhere. */
function askFinalCost(draft: Draft, kind: KindDefinition): void {
  if (!awaitsFinalCost(draft.object, kind) || draft.volatile.some(({ type }) => type === 'ShowCost')) return;
  draft.volatile.push({ type: 'ShowCost' });
}

/** Of a fold's changes the owner hears the last. An answer to its question is stored nowhere: it asks again. */
function tellChange(draft: Draft, kind: KindDefinition, message: Message, before: ApiObject): void {
  if (kind.asChild === undefined) return;
  const { address, object, private: kept, version } = draft;
  const asked = message.type === 'MessageReceived' && message.content.type === 'ChildAsked';
  const former = message.type === 'Updated' ? { before: message.before } : asked ? { asker: message.from } : undefined;
  const farewell = former && tellFormerParent({ address, object, kept }, former, kind.asChild);
  if (farewell !== undefined) return void (asked ? draft.volatile : draft.later).push(farewell);
  if (!asked && draft.object === before) return;
  const told = tellParent({ address, object, kept }, asked ? { version } : { before }, kind.asChild);
  if (told === undefined) return;
  if (asked) return void draft.volatile.push(told);
  const earlier = draft.later.findIndex((effect) => effect.type === 'Tell' && effect.message.type === 'ChildChanged');
  if (earlier >= 0) draft.later.splice(earlier, 1);
  draft.later.push(told);
}

function decideKind(
  draft: Draft,
  kind: KindDefinition,
  message: Message,
  context: DecisionContext,
): Refusal | undefined {
  const { machine } = kind;
  const current = { address: draft.address, object: draft.object, private: draft.private };
  const decision = machine.decide(current, draft.sideState, message, context);
  switch (decision.outcome) {
    case 'Ignored':
      return undefined;
    case 'Refused':
      return decision.refusal;
    case 'Volatile':
      for (const change of decision.changes) machine.sideState?.apply(draft.sideState, change);
      draft.volatile.push(...decision.volatile);
      return undefined;
    case 'Next': {
      draft.object = {
        ...draft.object,
        spec: decision.spec === undefined ? draft.object.spec : decision.spec,
        status: decision.status,
      };
      if (decision.finalizers !== undefined) setFinalizers(draft, decision.finalizers);
      if (decision.annotations !== undefined) {
        const metadata = { ...draft.object.metadata, annotations: decision.annotations };
        draft.object = { ...draft.object, metadata };
      }
      if (decision.private !== undefined) {
        draft.private = decision.private;
        draft.privateChanged = true;
      }
      if (decision.reveal) draft.reveal = { ...draft.reveal, ...decision.reveal };
      for (const change of decision.changes ?? []) {
        machine.sideState?.apply(draft.sideState, change);
        if (machine.sideState?.stored) draft.slots.push(change as SlotRow);
      }
      for (const effect of decision.effects) take(draft, effect, context);
      draft.volatile.push(...(decision.volatile ?? []));
      return undefined;
    }
  }
}

function take(draft: Draft, effect: Effect, context: DecisionContext): void {
  if (isLater(effect)) draft.later.push(effect);
  else if (effect.type === 'DeleteSelf') markDeleted(draft, context);
  else draft.atCommit.push(effect);
}

/** A machine ends its own object: as a client's deletion would, so finalizers still hold it. */
function markDeleted(draft: Draft, context: DecisionContext): void {
  if (draft.object.metadata.deletionTimestamp !== undefined) return;
  const deletionTimestamp = new Date(context.now).toISOString().replace(/\.\d+Z$/, 'Z');
  draft.object = { ...draft.object, metadata: { ...draft.object.metadata, deletionTimestamp } };
}

function setFinalizers(draft: Draft, finalizers: readonly string[]): void {
  const { finalizers: _before, ...metadata } = draft.object.metadata;
  draft.object = {
    ...draft.object,
    metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers },
  };
}

/** An object under deletion goes with the commit that takes its last finalizer. */
function settleDeletion(draft: Draft, kind: KindDefinition): void {
  const { deletionTimestamp, finalizers = [] } = draft.object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) return;
  draft.gone = true;
  draft.atCommit.push(...(kind.atRemoval?.(draft.object) ?? []));
  draft.later.push(...onDeleted(draft.address, draft.object));
}
