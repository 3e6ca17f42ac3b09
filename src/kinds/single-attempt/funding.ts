/**
 * What money does to a Sandbox or Workspace: a client's write that starts it takes a hold, which may refuse the write; when money is refused
 * later it stops with its state saved, and starts again by a client's write alone (decisions, "Kinds not detailed").
 */
import { MAX_COST_REACHED, placeFirstHold } from '../attempts/holds.js';
import { admitPayer } from '../attempts/payer.js';
import { emit } from '../events/emit.js';
import type { EventType } from '../events/table.js';
import type { Message } from '../machine.js';
import type { SingleAttemptDraft } from './draft.js';
import type { SingleAttemptSpec } from './state.js';

/** After what the message has brought about is decided. `epoch`: of the last Attempt before. */
export function payForStart(draft: SingleAttemptDraft, message: Message, epoch: number): void {
  if (message.type !== 'Created' && message.type !== 'Updated') return;
  if (draft.private.epoch > epoch) draft.effects.push(...placeFirstHold(draft.owner));
}

/** Before the message is looked at: who pays, and what it may cost. */
export function admit(draft: SingleAttemptDraft, message: Message): void {
  const { metadata, spec } = draft.object;
  if (message.type === 'Created') draft.keep({ payer: admitPayer(draft.self, metadata, message.payer) });
  else if (message.type !== 'Updated') return;
  const before = message.type === 'Updated' ? (message.before.spec as SingleAttemptSpec).maxCostUSD : undefined;
  if (spec.maxCostUSD === before) return;
  const operation = { op: 'SetCap', uid: metadata.uid, limitUSD: spec.maxCostUSD } as const;
  draft.effects.push({ type: 'Money', operation });
}

/** `reason`: the code of what refused. */
export function stopUnfunded(draft: SingleAttemptDraft, reason: string, message: string): void {
  draft.stop(reason, message);
  draft.keep({ recovering: undefined });
  draft.condition('Funded', false, reason, message);
  draft.effects.push(emit(eventOf(draft, reason === MAX_COST_REACHED ? 'max_cost_reached' : 'funding_lost'), message));
}

/** Its Attempt has a place, so it holds what it needs. */
export function noteFunded(draft: SingleAttemptDraft): void {
  const funded = draft.status.conditions?.find(({ type }) => type === 'Funded');
  if (funded?.status !== 'False') return;
  draft.condition('Funded', true, 'Funded', 'there is money for it again');
  draft.effects.push(emit(eventOf(draft, 'funding_restored'), `it goes on at epoch ${draft.private.epoch}`));
}

function eventOf(
  { self }: SingleAttemptDraft,
  what: 'funding_lost' | 'funding_restored' | 'max_cost_reached',
): EventType {
  return self.kind === 'Workspace' ? `workspace.${what}` : `sandbox.${what}`;
}
