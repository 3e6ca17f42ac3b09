/**
 * What every object does about its own end and its children, whatever its kind: the finalizers of foreground and
 * orphan deletion, and the messages between owner and owned. Pure; the resource actor asks it before the kind's machine.
 * Source: decisions, "Delete"; Kubernetes' garbage collection.
 */
import type { Address } from '../api/address.js';
import type { ApiObject, ObjectMeta, OwnerReference } from '../api/object.js';
import type { LaterEffect } from './effect.js';
import type { AsChild } from './kind.js';
import type { Message } from './machine.js';
import type { MessageSender } from './object-message.js';
import type { Cost } from './shapes/status.js';

export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** How work ends whose object is deleted and stays. */
export const DELETED = {
  phase: 'Cancelled',
  reason: 'Deleted',
  message: 'deleted: a finalizer still holds it',
} as const;

/**
 * Deleted, and there only because a finalizer of a client's holds it: nothing collects what it owns until that goes, so its work has to
 * end by its own decision. What is deleted in the foreground is collected, and what orphans keeps its children.
 */
export function isHeldByClient({ deletionTimestamp, finalizers = [] }: ObjectMeta): boolean {
  if (deletionTimestamp === undefined || finalizers.length === 0) return false;
  return !finalizers.includes(FOREGROUND_FINALIZER) && !finalizers.includes(ORPHAN_FINALIZER);
}

/** Deleted, so that what it owns goes by garbage collection. */
export function isCollected(metadata: ObjectMeta): boolean {
  return metadata.deletionTimestamp !== undefined && !isHeldByClient(metadata);
}

export interface LifecycleStep {
  readonly finalizers: readonly string[] | undefined;
  readonly effects: readonly LaterEffect[];
  /** The message was for the lifecycle alone; the kind's machine does not see it. */
  readonly consumed: boolean;
}

const NOTHING: LifecycleStep = { finalizers: undefined, effects: [], consumed: false };

/** What the generic lifecycle makes of a message to `object`. */
export function lifecycle(object: ApiObject, message: Message): LifecycleStep {
  const { deletionTimestamp, finalizers = [], uid } = object.metadata;
  const foreground = finalizers.includes(FOREGROUND_FINALIZER);
  const orphan = finalizers.includes(ORPHAN_FINALIZER);
  if (message.type === 'MessageReceived' && message.content.type === 'ChildrenGone') {
    const rest = finalizers.filter((name) => name !== FOREGROUND_FINALIZER && name !== ORPHAN_FINALIZER);
    return { finalizers: rest.length === finalizers.length ? undefined : rest, effects: [], consumed: true };
  }
  if (deletionTimestamp === undefined || (!foreground && !orphan)) return NOTHING;
  const collect: Extract<LaterEffect, { type: 'CollectChildren' }> = {
    type: 'CollectChildren',
    uid,
    orphan,
    answer: true,
  };
  switch (message.type) {
    case 'DeletionRequested':
    case 'Activated':
      return { finalizers: undefined, effects: [collect], consumed: false };
    case 'MessageReceived':
      // A child has gone: look again whether it was the last one.
      if (message.content.type !== 'ChildGone') return NOTHING;
      return { finalizers: undefined, effects: [{ ...collect, again: true }], consumed: false };
    case 'EffectFailed':
      // Some child could not be asked for so long that the effect came back. What owns it waits until none is left.
      if (message.effect.type !== 'CollectChildren') return NOTHING;
      return { finalizers: undefined, effects: [collect], consumed: true };
    default:
      return NOTHING;
  }
}

/** Why the owner gets a message: the object has changed from `before`, or the owner has asked for its state, which has this resourceVersion. */
export type Occasion = { readonly before: ApiObject } | { readonly version: number };

/** What the controlling owner hears of the object. Owners of kinds that do not wait for such an object hear nothing. */
export function tellParent(
  { address, object, kept }: { readonly address: Address; readonly object: ApiObject; readonly kept: unknown },
  occasion: Occasion,
  asChild: AsChild | undefined,
): LaterEffect | undefined {
  if (asChild === undefined) return undefined;
  const { uid, generation } = object.metadata;
  const owner = parentOf(object, asChild);
  if (owner === undefined || !isMadeFor(owner.uid, kept, asChild)) return undefined;
  const now = said(object);
  if ('before' in occasion) {
    const then = said(occasion.before);
    const isTold = then.phase === now.phase && then.reason === now.reason;
    if (isTold && finalCostOf(occasion.before) === finalCostOf(object)) return undefined;
  }
  return {
    type: 'Tell',
    to: { org: address.org, kind: owner.kind, project: address.project, name: owner.name },
    uid: owner.uid,
    message: {
      type: 'ChildChanged',
      uid,
      ...now,
      generation,
      ...('version' in occasion && { version: occasion.version }),
      ...asChild.facts(object, kept),
      ...costOf(object),
    },
  };
}

/** What it has cost, once nothing more will be charged (USD). */
function finalCostOf({ status }: ApiObject): string | undefined {
  const { cost } = (status ?? {}) as { readonly cost?: Cost | undefined };
  return cost?.final === true ? cost.totalUSD : undefined;
}

function costOf(object: ApiObject): { readonly costUSD?: string } {
  const costUSD = finalCostOf(object);
  return costUSD === undefined ? {} : { costUSD };
}

/**
 * What an owner hears that waits for an object which is its own no more: a client has taken the reference away, or given it to another. To it
 * the object is gone. `asker`: an owner that has asked; absent: the object has changed from `before`.
 */
export function tellFormerParent(
  { address, object, kept }: { readonly address: Address; readonly object: ApiObject; readonly kept: unknown },
  former: { readonly before: ApiObject } | { readonly asker: MessageSender },
  asChild: AsChild | undefined,
): LaterEffect | undefined {
  if (asChild === undefined) return undefined;
  const now = parentOf(object, asChild)?.uid;
  const { uid } = object.metadata;
  const message = { type: 'ChildGone', uid, kind: address.kind } as const;
  if ('asker' in former) {
    const { asker } = former;
    return asker.uid === now ? undefined : { type: 'Tell', to: asker.address, uid: asker.uid, message };
  }
  const before = parentOf(former.before, asChild);
  if (before === undefined || before.uid === now || !isMadeFor(before.uid, kept, asChild)) return undefined;
  const to = { org: address.org, kind: before.kind, project: address.project, name: before.name };
  return { type: 'Tell', to, uid: before.uid, message };
}

/** A client may make an object under the name of a child, with its owner's reference: that is none. */
export function isMadeFor(owner: string, kept: unknown, asChild: AsChild): boolean {
  const makers = asChild.madeFor(kept);
  return makers === undefined || makers[0] === owner;
}

function parentOf({ metadata }: ApiObject, { parents }: AsChild): OwnerReference | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner !== undefined && parents.includes(owner.kind) ? owner : undefined;
}

function said({ status }: ApiObject): { readonly phase: string; readonly reason: string; readonly message: string } {
  const { phase = '', reason = '', message = '' } = status as Partial<Record<'phase' | 'reason' | 'message', string>>;
  return { phase, reason, message };
}

/** What follows when the object's row goes: what it owned is collected, and its owners hear of it. */
export function onDeleted(address: Address, object: ApiObject): LaterEffect[] {
  const { uid, ownerReferences = [] } = object.metadata;
  const messages = ownerReferences.map((owner): LaterEffect => ({
    type: 'Tell',
    to: { org: address.org, kind: owner.kind, project: address.project, name: owner.name },
    uid: owner.uid,
    message: { type: 'ChildGone', uid, kind: address.kind },
  }));
  return [{ type: 'CollectChildren', uid, orphan: false, answer: false }, ...messages];
}
