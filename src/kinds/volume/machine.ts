/**
 * The behaviour of a Volume: its one writer (`lease.ts`), the revisions that writers have left, and its end.
 *
 *   Ready ── deletion ─▶ gone once nobody may write any more
 *
 * An empty one is Ready at once. It is level-based: what it shows and which timer is armed follow from the spec, the lease, the
 * revisions and the time alone.
 */
import { parseDuration } from '../../api/duration.js';
import { equalJson } from '../../api/equal.js';
import { formatBytes } from '../../api/quantity.js';
import { rfc3339 } from '../../api/time.js';
import { armTimers } from '../arm-timers.js';
import type { Current, Decision, Machine, Message } from '../machine.js';
import { LEASE_FINALIZER, type Revision, VolumeDraft, type VolumePrivate } from './state.js';
import { check, holderGone, takeReturn, takeWish, trim } from './lease.js';
import type { VolumeSpec, VolumeStatus } from './schema.js';

type VolumeDecision = Decision<VolumeStatus, VolumePrivate, never>;
type This = Current<VolumeSpec, VolumeStatus, VolumePrivate>;

const IGNORED: VolumeDecision = { outcome: 'Ignored' };

export const volumeMachine: Machine<VolumeSpec, VolumeStatus, VolumePrivate, undefined, never> = {
  decide(current, _side, message, context) {
    const draft = new VolumeDraft(current, context.now);
    if (!take(draft, message)) return IGNORED;
    trim(draft);
    setUnusedTimer(draft);
    report(draft);
    return toDecision(current, draft);
  },
};

/** False: it means nothing here. */
function take(draft: VolumeDraft, message: Message<VolumeSpec, VolumeStatus>): boolean {
  switch (message.type) {
    case 'Created':
    case 'Updated':
      return true;
    case 'DeletionRequested':
    case 'Activated':
      if (draft.deleting && draft.private.lease !== undefined) check(draft, draft.private.lease);
      return true;
    case 'TimerFired': {
      const { [message.timer]: _fired, ...timers } = draft.private.timers;
      draft.keep({ timers });
      return true;
    }
    case 'MessageReceived':
      switch (message.content.type) {
        case 'LeaseWanted':
          takeWish(draft, message.content, message.from);
          return true;
        case 'LeaseReturned':
          takeReturn(draft, message.content, message.from);
          return true;
        default:
          return false;
      }
    case 'EffectFailed':
      return takeFailure(draft, message);
    default:
      return false;
  }
}

function takeFailure(
  draft: VolumeDraft,
  { effect, reason }: Extract<Message<VolumeSpec, VolumeStatus>, { type: 'EffectFailed' }>,
): boolean {
  const { lease } = draft.private;
  if (effect.type !== 'Tell' || reason !== 'NotFound' || lease === undefined) return false;
  // Whoever it was meant for, nobody of the holder's name is there.
  if (effect.to.kind !== lease.kind || effect.to.name !== lease.name) return false;
  holderGone(draft);
  return true;
}

/** Used once and without a use for long enough since, it goes. */
function setUnusedTimer(draft: VolumeDraft): void {
  const { ttlAfterUnused } = draft.volume.spec;
  const ttl = ttlAfterUnused === undefined ? undefined : parseDuration(ttlAfterUnused);
  const { lease, usedAt } = draft.private;
  const counts = lease === undefined && usedAt !== undefined && !draft.deleting;
  const due = ttl === undefined || !counts ? undefined : usedAt + ttl;
  if (due !== undefined && due <= draft.now) {
    draft.effects.push({ type: 'DeleteSelf' });
    return;
  }
  const rules = { lazy: () => false, kept: () => false };
  const { armed, effects } = armTimers(draft.private.timers, { unused: due }, rules);
  draft.effects.push(...effects);
  draft.keep({ timers: armed });
}

/** Of one that was committed before it was measured: the bytes of its blob. */
function logicalOf({ size, logical = size }: Revision): number {
  return logical;
}

function report(draft: VolumeDraft): void {
  const { lease, revisions } = draft.private;
  const [newest] = revisions;
  draft.condition('Ready', true, newest === undefined ? 'Empty' : 'Committed', '');
  const bytes = revisions.reduce((sum, revision) => sum + logicalOf(revision), 0);
  const billedBytes = revisions.reduce((sum, { size }) => sum + size, 0);
  draft.status = {
    ...draft.status,
    phase: 'Ready',
    observedGeneration: draft.volume.metadata.generation,
    holder: lease && { attempt: lease.attempt, epoch: lease.epoch, kind: lease.kind, name: lease.name },
    readers: 0,
    revision: newest && String(newest.number),
    lastCommitTime: newest && rfc3339(newest.time),
    storage: { bytes, billedBytes },
    used: formatBytes(newest === undefined ? 0 : logicalOf(newest)),
  };
}

function toDecision(current: This, draft: VolumeDraft): VolumeDecision {
  const held = draft.volume.metadata.finalizers ?? [];
  const others = held.filter((name) => name !== LEASE_FINALIZER);
  const finalizers = draft.private.lease === undefined ? others : [...others, LEASE_FINALIZER];
  const moved = finalizers.length !== held.length;
  const kept = equalJson(current.private, draft.private) ? undefined : draft.private;
  const same = !moved && kept === undefined && equalJson(current.object.status, draft.status);
  if (same && draft.effects.length === 0) {
    return draft.volatile.length === 0 ? IGNORED : { outcome: 'Volatile', changes: [], volatile: draft.volatile };
  }
  return {
    outcome: 'Next',
    status: draft.status,
    effects: draft.effects,
    volatile: draft.volatile,
    ...(kept && { private: kept }),
    ...(moved && { finalizers }),
  };
}
