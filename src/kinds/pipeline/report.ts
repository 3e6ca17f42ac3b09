/** The status that a Pipeline shows: built anew from the slots, so that it cannot drift from them. */
import type { ApiObject } from '../../api/object.js';
import { rfc3339 } from '../../api/time.js';
import type { ParentDraft, ParentEnding } from '../children/draft.js';
import { reportParent } from '../children/report.js';
import type { ChildSlot } from '../children/slots.js';
import { type JobPhase } from '../job/status.js';
import type { PipelineSpec, PipelineStatus, StageStatus } from './schema.js';

export function reportPipeline(
  draft: ParentDraft,
  { spec, status: before }: ApiObject<PipelineSpec, PipelineStatus>,
  phase: JobPhase,
  /** The stage that has failed so far, where one has. */
  failure: ParentEnding | undefined,
): PipelineStatus {
  return {
    ...before,
    ...reportParent(draft, phase, before),
    // What others still do changes nothing of that.
    ...(failure !== undefined && phase === 'Running' && { reason: failure.reason, message: failure.message }),
    stages: spec.stages.map(({ name }, index) => {
      const slot = draft.slot(index);
      const job = slot?.detail.uid === undefined ? undefined : draft.children.name(index);
      return { name, job, phase: phaseOf(slot, phase), costUSD: slot?.detail.costUSD, ...times(slot) };
    }),
  };
}

function times(slot: ChildSlot | undefined): Pick<StageStatus, 'startTime' | 'completionTime'> {
  const { startedAt, endedAt } = slot?.detail ?? {};
  return {
    startTime: startedAt === undefined ? undefined : rfc3339(startedAt),
    completionTime: endedAt === undefined ? undefined : rfc3339(endedAt),
  };
}

/** A stage that was never begun when the whole was cancelled is cancelled. */
function phaseOf(slot: ChildSlot | undefined, pipeline: JobPhase): StageStatus['phase'] {
  if (slot === undefined) return pipeline === 'Cancelled' ? 'Cancelled' : 'Pending';
  switch (slot.phase) {
    case 'Active':
      return slot.detail.live ?? 'Pending';
    case 'Waiting':
      return 'Pending';
    default:
      return slot.phase;
  }
}
