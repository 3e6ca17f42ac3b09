/**
 * The behaviour of a Pipeline: a stage begins when all that it needs has succeeded, as many at once as maxParallel lets.
 *
 *   stage: (no slot) ──needs succeeded──▶ Active ──its Job ends──▶ Succeeded | Failed | Cancelled
 *             └──a need failed, or FailFast──▶ Skipped
 *
 * A stage whose Job a client cancels or deletes counts as failed. Source: spec, "Pipeline"; decisions, "Kinds not detailed".
 */
import { toDecision } from '../attempts/decision.js';
import { moneyWaits } from '../children/caps.js';
import { ParentDraft, FRESH_PARENT, type ParentEnding, type ParentPrivate } from '../children/draft.js';
import { checkState, takeParentMessage } from '../children/machine.js';
import { reconcileParent, type ParentRules } from '../children/reconcile.js';
import { childTableStore, type ChildSlotPhase, type ChildTable } from '../children/slots.js';
import { isFinished } from '../job/status.js';
import type { Machine, SlotRow } from '../machine.js';
import { needsOf } from './graph.js';
import { reportPipeline } from './report.js';
import type { PipelineSpec, PipelineStatus } from './schema.js';
import { stageSet } from './stage-jobs.js';

export const pipelineMachine: Machine<PipelineSpec, PipelineStatus, ParentPrivate, ChildTable, SlotRow> = {
  sideState: childTableStore,
  decide({ address, object: pipeline, private: kept }, table, message, { now }) {
    const before = message.type === 'Updated' ? message.before.spec.state : undefined;
    const refusal = checkState('Pipeline', pipeline.spec.state, before);
    if (refusal !== undefined) return { outcome: 'Refused', refusal };
    const draft = new ParentDraft(address, pipeline, kept ?? FRESH_PARENT, stageSet(pipeline), table, now);
    const { phase = 'Pending' } = pipeline.status;
    if (!takeParentMessage(draft, phase, message)) return { outcome: 'Ignored' };
    const after = reconcileParent(draft, phase, rulesOf(pipeline.spec));
    const status = reportPipeline(draft, pipeline, after, failureOf(pipeline.spec.stages, draft));
    return toDecision({ address, object: pipeline, private: kept }, draft, {
      status,
      changes: draft.changes(),
      volatile: moneyWaits(draft),
    });
  },
  isTerminal: (status) => isFinished(status.phase),
};

const LOST: ReadonlySet<ChildSlotPhase | undefined> = new Set<ChildSlotPhase>(['Failed', 'Cancelled', 'Skipped']);

function rulesOf({ stages, failurePolicy, maxParallel, ttlSecondsAfterFinished }: PipelineSpec): ParentRules {
  const places = new Map(stages.map(({ name }, index) => [name, index]));
  const needs = stages.map((stage) => [...new Set(needsOf(stage).map((need) => places.get(need.stage) ?? -1))]);
  return {
    window: maxParallel ?? stages.length,
    *ready(draft) {
      for (const [index, own] of needs.entries()) {
        if (draft.slot(index) !== undefined) continue;
        if (own.every((need) => draft.slot(need)?.phase === 'Succeeded')) yield index;
      }
    },
    skip(draft) {
      const failed = stages.some((_stage, index) => LOST.has(draft.slot(index)?.phase));
      if (!failed) return;
      // Whatever is skipped may take others with it, in any order of the stages.
      for (let again = true; again;) {
        again = false;
        for (const [index, own] of needs.entries()) {
          const slot = draft.slot(index);
          if (slot !== undefined && slot.phase !== 'Waiting') continue;
          if (failurePolicy === 'Continue' && !own.some((need) => LOST.has(draft.slot(need)?.phase))) continue;
          draft.put({ index, epoch: 1, phase: 'Skipped', failures: 0, detail: {} });
          again = true;
        }
      }
    },
    failure: (draft) => failureOf(stages, draft),
    events: { Succeeded: 'pipeline.succeeded', Failed: 'pipeline.failed', Cancelled: 'pipeline.cancelled' },
    ttlSecondsAfterFinished,
  };
}

/** Named is the stage that failed first. */
function failureOf(stages: PipelineSpec['stages'], draft: ParentDraft): ParentEnding | undefined {
  const lost = stages
    .flatMap(({ name }, index) => {
      const slot = draft.slot(index);
      return slot?.phase === 'Failed' || slot?.phase === 'Cancelled' ? [{ name, slot }] : [];
    })
    .toSorted((a, b) => (a.slot.detail.endedAt ?? draft.now) - (b.slot.detail.endedAt ?? draft.now));
  const [first] = lost;
  if (first === undefined) return undefined;
  const { reason = '', message = '' } = first.slot.detail;
  const verb = first.slot.phase === 'Failed' ? 'failed' : 'was cancelled';
  const why = [reason, message].filter((word) => word !== '' && first.slot.phase === 'Failed').join(': ');
  const others = lost.length === 1 ? '' : `; ${lost.length - 1} more failed`;
  return {
    phase: 'Failed',
    reason: 'StageFailed',
    message: `stage "${first.name}" ${verb}${why === '' ? '' : `: ${why}`}${others}`,
  };
}
