/**
 * The cost cap that children share. A hold that it refuses lets all of them rest, and raising it lets them go on (spec, "States and
 * transitions": Sweep). What each child may cost by itself is its own cap.
 */
import { MAX_COST_REACHED } from '../attempts/holds.js';
import { emit } from '../events/emit.js';
import type { ParentDraft } from './draft.js';

export function setCap(draft: ParentDraft, before: string | undefined): void {
  const { maxCostUSD, metadata } = draft;
  if (maxCostUSD === before) return;
  const { uid } = metadata;
  draft.effects.push({ type: 'Money', operation: { op: 'SetCap', uid, limitUSD: maxCostUSD } });
  draft.keep({ capped: undefined });
}

/** Why a child could not be made, or rests. */
export function noteCap(draft: ParentDraft, reason: string | undefined): void {
  if (reason !== MAX_COST_REACHED || draft.maxCostUSD === undefined || draft.private.capped === true) return;
  draft.keep({ capped: true });
  const type = draft.self.kind === 'Sweep' ? 'sweep.max_cost_reached' : 'pipeline.max_cost_reached';
  draft.effects.push(emit(type, `its Jobs have cost what maxCostUSD allows, ${draft.maxCostUSD} USD`));
}
