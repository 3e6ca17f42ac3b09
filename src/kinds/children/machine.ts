/**
 * How a message reaches the slots of an object that makes others, before its kind decides what follows. Messages and children are stored
 * effects, so nothing of them is lost in a crash; when the owner is opened again it asks all its open children how they stand, which heals what
 * a crashed handler has dropped.
 */
import type { Refusal } from '../../api/refusal.js';
import { forgetTimer } from '../attempts/decision.js';
import { admitPayer } from '../attempts/payer.js';
import { STAYS_CANCELLED } from '../job/fold-spec.js';
import { isFinished, type JobPhase } from '../job/status.js';
import { isCollected } from '../lifecycle.js';
import type { Message } from '../machine.js';
import { setCap, tryWaiting } from './caps.js';
import type { Parent, ParentDraft } from './draft.js';
import { takeChildFailure, takeChildMessage } from './messages.js';
import { propagateAgain, remind } from './requests.js';
import type { DesiredState } from './slots.js';

/** Answers false when the message means nothing here. */
export function takeParentMessage(draft: ParentDraft, phase: JobPhase | undefined, message: Message): boolean {
  switch (message.type) {
    case 'Created':
      draft.keep({
        payer: admitPayer(draft.self, draft.metadata, message.payer),
        ...(message.agreed !== undefined && { agreed: message.agreed }),
      });
      setCap(draft, undefined);
      return true;
    case 'Updated': {
      const before = (message.before as Parent).spec;
      setCap(draft, before.maxCostUSD);
      if (draft.state === 'Running' && before.state !== 'Running') tryWaiting(draft);
      return true;
    }
    case 'DeletionRequested':
      return true;
    case 'Activated':
      if (isLive(draft, phase)) {
        remind(draft);
        draft.awaiting = true;
      }
      return true;
    case 'TimerFired':
      forgetTimer(draft, message.timer);
      if (message.timer === 'resync' && isLive(draft, phase)) {
        propagateAgain(draft);
        remind(draft);
      }
      return true;
    case 'MessageReceived':
      return takeChildMessage(draft, message.from, message.content);
    case 'EffectFailed':
      return takeChildFailure(draft, message);
    default:
      return false; // engines report to Attempts, and these kinds have no actions
  }
}

function isLive(draft: ParentDraft, phase: JobPhase | undefined): boolean {
  return !isFinished(phase) && !isCollected(draft.metadata);
}

/** A cancelled one stays cancelled. */
export function checkState(kind: string, state: DesiredState, before: DesiredState | undefined): Refusal | undefined {
  if (before !== 'Cancelled' || state === 'Cancelled') return undefined;
  const message = `a cancelled ${kind} stays cancelled`;
  return {
    code: 'Invalid',
    message: `spec.state: ${message}`,
    causes: [{ field: 'spec.state', message, reason: 'FieldValueInvalid' }],
    fix: STAYS_CANCELLED,
  };
}
