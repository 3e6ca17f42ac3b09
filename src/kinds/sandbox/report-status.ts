/** The status that a Sandbox shows, from what its decision has come to; and the events that a new phase raises. */
import { rfc3339 } from '../../api/time.js';
import { emit } from '../events/emit.js';
import { isBusy } from '../single-attempt/idle.js';
import { createdAt, maxLifetimeMs, type SandboxDraft } from './state.js';
import type { SandboxPhase, SandboxStatus } from './schema.js';

export function reportStatus(draft: SandboxDraft, phase: SandboxPhase): SandboxStatus {
  const before = draft.object.status.phase;
  const { reason, message } = explain(draft, phase);
  sayConditions(draft, phase, reason ?? phase, message ?? '');
  if (before !== phase) raise(draft, phase, reason, message);
  return {
    ...draft.status,
    phase,
    reason,
    message,
    activity: phase === 'Running' ? (isBusy(draft) ? 'Busy' : 'Idle') : undefined,
    expirationTime: rfc3339(createdAt(draft) + maxLifetimeMs(draft.object.spec)),
    image: { ...draft.status.image, user: draft.status.image?.user ?? 'root' },
  };
}

function explain(
  { private: kept, status, deleting }: SandboxDraft,
  phase: SandboxPhase,
): { reason?: string | undefined; message?: string | undefined } {
  if (deleting) return {};
  switch (phase) {
    case 'Failed':
      return kept.failure ?? {};
    case 'Recovering':
      return kept.recovering ?? {};
    case 'Stopped':
      return { reason: status.stopReason, message: kept.stopMessage };
    case 'Pending':
      return kept.live?.wait === undefined ? {} : { reason: 'WaitingForCapacity', message: kept.live.wait };
    default:
      return {};
  }
}

function sayConditions(draft: SandboxDraft, phase: SandboxPhase, reason: string, message: string): void {
  draft.condition('Ready', phase === 'Running', reason, message);
  const { live } = draft;
  if (live?.phase === 'Placed' || live?.phase === 'Running') draft.condition('Scheduled', true, 'Placed', '');
  else draft.condition('Scheduled', false, live?.wait === undefined ? phase : 'WaitingForCapacity', live?.wait ?? '');
}

function raise(
  draft: SandboxDraft,
  phase: SandboxPhase,
  reason: string | undefined,
  message: string | undefined,
): void {
  const said = [reason, message].filter((text) => text !== undefined && text !== '').join(': ');
  switch (phase) {
    case 'Running':
      draft.effects.push(emit('sandbox.started', `it runs at epoch ${draft.private.epoch}`));
      return;
    case 'Stopped':
      // One that was made Stopped has never run.
      if (draft.private.epoch > 0) draft.effects.push(emit('sandbox.stopped', message ?? reason ?? ''));
      return;
    case 'Failed': {
      const setup = reason === 'StartupFailed' || reason === 'CapacityUnavailable';
      draft.effects.push(emit(setup ? 'sandbox.setup_failed' : 'sandbox.stopped', said));
      return;
    }
    default:
  }
}
