/**
 * What money does to a Job: the hold that it takes when it is asked to run, its cap, and what becomes of an index that is not paid for. Work that a
 * Budget or the wallet refuses waits, and is tried again later and later; work that has reached the Job's own cap is suspended until the
 * cap is raised. Source: spec, "States and transitions"; decisions, "Kinds not detailed".
 */
import type { ApiObject } from '../../api/object.js';
import { failureDelay } from '../attempts/back-off.js';
import { MAX_COST_REACHED, placeFirstHold, releaseFirstHold } from '../attempts/holds.js';
import { admitPayer } from '../attempts/payer.js';
import { emit } from '../events/emit.js';
import type { Payer } from '../../money/payer.js';
import type { JobDraft } from './draft.js';
import type { JobSpec } from './schema.js';
import type { Slot } from './slots.js';
import { isFinished } from './status.js';

/** `payer`: of the Sweep or Pipeline that has made it. */
export function beginPaying(draft: JobDraft, payer: Payer | undefined): void {
  const { self, object } = draft.owner;
  draft.keep({ payer: admitPayer(self, object.metadata, payer) });
  setCap(draft, undefined);
  if (draft.job.spec.state === 'Running') takeFirstHold(draft);
}

/** A client's write: a start takes a hold, which may refuse it; a stop gives it up. */
export function changePaying(draft: JobDraft, before: ApiObject<JobSpec>): void {
  setCap(draft, before.spec.maxCostUSD);
  const { state, maxCostUSD } = draft.job.spec;
  // Its own cap is raised; or it is that of its Sweep or Pipeline, which then asks its Jobs to run.
  const again = maxCostUSD !== before.spec.maxCostUSD || (state === 'Running' && before.spec.state !== 'Running');
  if (draft.private.capped === true && again) draft.keep({ capped: undefined });
  if (isFinished(draft.job.status.phase) || state === before.spec.state) return;
  if (state === 'Running') takeFirstHold(draft);
  else giveUpFirstHold(draft);
}

function takeFirstHold(draft: JobDraft): void {
  const effects = placeFirstHold(draft.owner);
  if (effects.length === 0) return;
  draft.effects.push(...effects);
  draft.keep({ firstHold: true });
}

/** The first Attempt has taken its place, or there will be none. */
export function giveUpFirstHold(draft: JobDraft): void {
  if (draft.private.firstHold !== true) return;
  draft.keep({ firstHold: undefined });
  draft.effects.push(...releaseFirstHold(draft.owner));
}

function setCap(draft: JobDraft, before: string | undefined): void {
  const { maxCostUSD } = draft.job.spec;
  if (maxCostUSD === before) return;
  const { uid } = draft.job.metadata;
  draft.effects.push({ type: 'Money', operation: { op: 'SetCap', uid, limitUSD: maxCostUSD } });
}

/** The Attempt of this index was refused, or ended when what it held was used up. */
export function waitForMoney(draft: JobDraft, slot: Slot, reason: string, message: string): void {
  const refusals = (slot.detail.refusals ?? 0) + 1;
  const { lost, replaces } = slot.detail;
  draft.put({
    ...slot,
    phase: 'Waiting',
    detail: {
      ...(lost !== undefined && { lost }),
      ...(replaces === true && { replaces }),
      ...{ reason, refusals, retryAt: draft.now + failureDelay(refusals) },
    },
  });
  if (reason === MAX_COST_REACHED) {
    if (draft.private.capped !== true) draft.effects.push(emit('job.max_cost_reached', message));
    draft.keep({ capped: true });
    return;
  }
  if (draft.private.unfunded === undefined) draft.effects.push(emit('job.funding_lost', message));
  draft.keep({ unfunded: { reason, message } });
}

/** An Attempt runs again. */
export function noteFunded(draft: JobDraft): void {
  if (draft.private.unfunded === undefined) return;
  draft.keep({ unfunded: undefined });
  draft.effects.push(emit('job.funding_restored', 'there is money for it again'));
}
