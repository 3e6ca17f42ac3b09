/** The status that a Job shows: built anew from the draft, so that it cannot drift from the slots. */
import { setCondition } from '../../api/conditions.js';
import type { Condition } from '../../api/object.js';
import { rfc3339 } from '../../api/time.js';
import { MAX_COST_REACHED } from '../attempts/holds.js';
import type { JobDraft } from './draft.js';
import { MAX_LISTED_OUTPUTS, type JobOutput, type JobPhase, type JobStatus } from './status.js';

export function reportStatus(draft: JobDraft, phase: JobPhase): JobStatus {
  const { status: before, metadata } = draft.job;
  const { startedAt, finishedAt } = draft.private;
  const { reason, message } = explain(draft, phase);
  // What is undefined is not encoded.
  return {
    ...before,
    phase,
    reason,
    message,
    active: draft.active,
    succeeded: draft.completed,
    failed: draft.failures,
    attempts: draft.attempts,
    completedIndexes: draft.indexes('Succeeded'),
    failedIndexes: draft.indexes('Failed'),
    startTime: startedAt === undefined ? undefined : rfc3339(startedAt),
    completionTime: finishedAt === undefined ? undefined : rfc3339(finishedAt),
    conditions: conditions(draft, phase),
    outputs: listedOutputs(draft),
    image: draft.image,
    observedGeneration: metadata.generation,
  };
}

function explain(draft: JobDraft, phase: JobPhase): { reason?: string | undefined; message?: string | undefined } {
  const { capped, ending, unfunded, waitReason, lastFailure } = draft.private;
  const { metadata } = draft.job;
  // Once it is over, why it ended stays as it was said.
  if (ending !== undefined) return { reason: ending.reason, message: ending.message };
  switch (phase) {
    case 'Succeeded':
      return { reason: 'Completed' };
    case 'Suspended':
      if (capped === undefined) return { reason: 'Suspended' };
      return {
        reason: MAX_COST_REACHED,
        message: `maxCostUSD${capped === true || capped.uid === metadata.uid ? '' : ' of its owner'} leaves no room for more: raise that to go on`,
      };
    case 'Pending':
    case 'Running':
      if (unfunded !== undefined) return unfunded;
      if (waitReason !== undefined) return { reason: 'WaitingForCapacity', message: waitReason };
      return lastFailure === undefined ? {} : { reason: lastFailure.reason, message: lastFailure.message };
    default:
      return {};
  }
}

function conditions(draft: JobDraft, phase: JobPhase): JobStatus['conditions'] {
  const { now, job } = draft;
  const { ending, unsaved, uncollected } = draft.private;
  let list: readonly Condition[] | undefined = job.status.conditions;
  const set = (type: string, status: 'True' | 'False', reason: string, message: string): void => {
    list = setCondition(list, { type, status, reason, message }, now);
  };
  const suspended = list?.find((condition) => condition.type === 'Suspended');
  if (draft.private.suspendedAt !== undefined && ending === undefined)
    set('Suspended', 'True', 'JobSuspended', 'Job suspended');
  else if (suspended?.status === 'True') set('Suspended', 'False', 'JobResumed', 'Job resumed');
  const funded = list?.find((condition) => condition.type === 'Funded');
  const { unfunded } = draft.private;
  if (phase === 'Suspended' && draft.private.capped !== undefined)
    set('Funded', 'False', MAX_COST_REACHED, 'maxCostUSD leaves no room for more');
  else if (unfunded !== undefined) set('Funded', 'False', unfunded.reason, unfunded.message);
  else if (funded?.status === 'False') set('Funded', 'True', 'Funded', 'there is money for it again');
  const collected = list?.find((condition) => condition.type === 'OutputsCollected');
  if (unsaved !== undefined) {
    const message = `index ${unsaved.index} has run, and what it left is not kept yet, which is tried again: ${unsaved.why}`;
    set('OutputsCollected', 'False', 'CollectionFailed', message);
  } else if (uncollected !== undefined) {
    const { count, first } = uncollected;
    const message =
      count === 1 ? `not collected: ${first}` : `${count} outputs were not collected, the first: ${first}`;
    set('OutputsCollected', 'False', 'CollectionFailed', message);
  } else if (collected?.status === 'False') set('OutputsCollected', 'True', 'Collected', 'all outputs were collected');
  if (ending?.phase === 'Failed') set('FailureTarget', 'True', ending.reason, ending.message);
  switch (phase) {
    case 'Succeeded':
      set('Complete', 'True', 'Completed', 'all indexes succeeded');
      break;
    case 'Failed':
      set('Failed', 'True', ending?.reason ?? 'Failed', ending?.message ?? '');
      break;
    case 'Cancelled':
      set('Cancelled', 'True', ending?.reason ?? 'Cancelled', ending?.message ?? '');
      break;
    default:
  }
  return list === undefined ? undefined : [...list];
}

/** The first hundred, in the order in which they were collected; all of them are in the slots. */
function listedOutputs(draft: JobDraft): JobStatus['outputs'] {
  const listed = draft.job.status.outputs;
  if (draft.collected.length === 0 || (listed?.length ?? 0) >= MAX_LISTED_OUTPUTS) return listed;
  const added: JobOutput[] = draft.collected.flatMap(({ slot, time }) =>
    (slot.detail.outputs ?? []).map(({ name, size, sha256 }) => ({
      name,
      index: slot.index,
      size,
      sha256,
      time: rfc3339(time),
    })),
  );
  return [...(listed ?? []), ...added].slice(0, MAX_LISTED_OUTPUTS);
}
