/**
 * What becomes of an Attempt whose hold could not be renewed: it goes on for as long as it is paid, then it is stopped gracefully on the
 * reserve. Money that comes before that lets it go on. Messages name the sequence of the hold, so that a late one means nothing.
 */
import type { HoldRefusal } from '../../money/operation.js';
import type { DecisionContext } from '../machine.js';
import type { ObjectMessage } from '../object-message.js';
import { MAX_COST_REACHED, UNFUNDED } from '../attempts/holds.js';
import { GRACE_SECONDS } from './effects.js';
import { hasEnded } from './schema.js';
import { beginStop } from './stopping.js';
import { IGNORED, next, type AttemptDecision, type AttemptPrivate, type This } from './state.js';

type FundingRefused = Extract<ObjectMessage, { type: 'FundingRefused' }>;

export function refuseFunding(current: This, kept: AttemptPrivate, refused: FundingRefused): AttemptDecision {
  const { status } = current.object;
  if (hasEnded(status.phase) || kept.stopping !== undefined || kept.work !== 'Live') return IGNORED;
  if ((kept.unfunded?.sequence ?? -1) >= refused.sequence) return IGNORED;
  const { shortfall, until, sequence } = refused;
  return next({
    status,
    private: { ...kept, unfunded: { ...shortfall, sequence } },
    effects: [{ type: 'ArmTimer', timer: 'unfunded', at: until }],
  });
}

export function restoreFunding(current: This, kept: AttemptPrivate, sequence: number): AttemptDecision {
  if (kept.unfunded === undefined || kept.unfunded.sequence > sequence || kept.stopping !== undefined) return IGNORED;
  return next({
    status: current.object.status,
    private: { ...kept, unfunded: undefined },
    effects: [{ type: 'CancelTimer', timer: 'unfunded' }],
  });
}

/** What is paid is over. */
export function endUnfunded(current: This, kept: AttemptPrivate, context: DecisionContext): AttemptDecision {
  const { status } = current.object;
  if (kept.unfunded === undefined || kept.stopping !== undefined || hasEnded(status.phase)) return IGNORED;
  const reason = kept.unfunded.by === 'Cap' ? MAX_COST_REACHED : UNFUNDED;
  return beginStop(current, kept, reason, GRACE_SECONDS, context);
}

/** What refused the money without which it has just ended; undefined: it ended otherwise. */
export function endedUnfunded({ stopping, unfunded }: AttemptPrivate): HoldRefusal | undefined {
  if (stopping !== UNFUNDED && stopping !== MAX_COST_REACHED) return undefined;
  if (unfunded === undefined) return undefined;
  const { sequence: _of, ...shortfall } = unfunded;
  return shortfall;
}
