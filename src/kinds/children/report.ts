/** The part of a status that Sweep and Pipeline have in common: phase, why, when, and conditions. */
import { findCondition, setCondition } from '../../api/conditions.js';
import type { Condition } from '../../api/object.js';
import { rfc3339 } from '../../api/time.js';
import { isRefusedByMoney, MAX_COST_REACHED } from '../attempts/holds.js';
import { sayWait } from '../attempts/money-wait.js';
import { isFinished, type JobPhase } from '../job/status.js';
import { unfundedSlot } from './caps.js';
import type { ParentDraft } from './draft.js';

export interface ParentStatus {
  readonly completionTime?: string | undefined;
  readonly conditions?: Condition[] | undefined;
  readonly message?: string | undefined;
  readonly observedGeneration?: number | undefined;
  readonly phase?: JobPhase | undefined;
  readonly reason?: string | undefined;
  readonly startTime?: string | undefined;
}

export function reportParent(draft: ParentDraft, phase: JobPhase, before: ParentStatus): ParentStatus {
  const { startedAt, finishedAt } = draft.private;
  const { reason, message } = explain(draft, phase);
  // What is undefined is not encoded.
  return {
    phase,
    reason,
    message,
    startTime: startedAt === undefined ? undefined : rfc3339(startedAt),
    completionTime: finishedAt === undefined ? undefined : rfc3339(finishedAt),
    conditions: conditions(draft, phase, before.conditions),
    observedGeneration: draft.metadata.generation,
  };
}

interface Explained {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

function explain(draft: ParentDraft, phase: JobPhase): Explained {
  const { ending } = draft.private;
  // Once it is over, why it ended stays as it was said.
  if (ending !== undefined) return { reason: ending.reason, message: ending.message };
  switch (phase) {
    case 'Succeeded':
      return { reason: 'Completed' };
    case 'Suspended':
      return draft.private.capped === true
        ? {
            reason: MAX_COST_REACHED,
            message: 'maxCostUSD left too little for its Jobs to go on: raise it',
          }
        : { reason: 'Suspended' };
    default:
      return whatWaits(draft);
  }
}

/** The first child that says why it is not further. */
function whatWaits(draft: ParentDraft): Explained {
  for (const phase of ['Waiting', 'Active'] as const) {
    for (const { index, detail } of draft.openSlots(phase)) {
      const { reason, message } = detail;
      if (reason === undefined) continue;
      return { reason, message: `${draft.children.label(index)}: ${message ?? reason}` };
    }
  }
  return {};
}

function conditions(draft: ParentDraft, phase: JobPhase, before: Condition[] | undefined): Condition[] | undefined {
  const { kind } = draft.self;
  const { ending } = draft.private;
  let list: readonly Condition[] | undefined = before;
  const set = (type: string, status: 'True' | 'False', reason: string, message: string): void => {
    list = setCondition(list, { type, status, reason, message }, draft.now);
  };
  if (phase === 'Suspended') set('Suspended', 'True', `${kind}Suspended`, `${kind} suspended`);
  else if (findCondition(list, 'Suspended')?.status === 'True')
    set('Suspended', 'False', `${kind}Resumed`, `${kind} resumed`);
  const { funding } = draft.private;
  // The slots are gone through only when one of them may wait.
  const over = ending !== undefined || isFinished(phase);
  const asleep = draft.state === 'Suspended' || phase === 'Suspended';
  const lost = funding !== undefined && funding.state !== 'Restored' && !over && !asleep;
  const unfunded = lost ? unfundedSlot(draft) : undefined;
  if (unfunded !== undefined) {
    const { reason = 'BudgetExceeded', wait } = unfunded.detail;
    const code = isRefusedByMoney(reason) ? reason : 'BudgetExceeded';
    set('Funded', 'False', code, `${draft.children.label(unfunded.index)} ${wait === undefined ? '' : sayWait(wait)}`);
  } else if (findCondition(list, 'Funded')?.status === 'False') {
    if (over || asleep) set('Funded', 'True', 'NothingWaits', 'none of its Jobs waits for money now');
    else set('Funded', 'True', 'Funded', 'there is money for its Jobs again');
  }
  switch (phase) {
    case 'Succeeded':
      set('Complete', 'True', 'Completed', `${draft.counts.slots.Succeeded} of ${draft.children.total} succeeded`);
      break;
    case 'Failed':
    case 'Cancelled':
      set(phase, 'True', ending?.reason ?? phase, ending?.message ?? '');
      break;
    default:
  }
  return list === undefined ? undefined : [...list];
}
