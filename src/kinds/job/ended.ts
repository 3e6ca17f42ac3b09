/**
 * What the end of one Attempt means for its slot, and the numbers that rule retries. Source: spec, "States and transitions" (Job,
 * Attempt); decisions, "Small points". A customer's failure is retried after a delay until backoffLimit is used up over all indexes,
 * unless no retry could mend it (LASTING). Lost capacity is replaced up to recovery.maxAttempts per index and is no failure.
 */
import { parseDuration } from '../../api/duration.js';
import { failureDelay, replacementDelay } from '../attempts/back-off.js';
import { emit } from '../events/emit.js';
import type { CollectedOutput, ObjectMessage } from '../object-message.js';
import { DEFAULT_MAX_ATTEMPTS } from '../shapes/recovery.js';
import type { Ending, JobDraft } from './draft.js';
import type { JobSpec } from './schema.js';
import type { Slot, SlotOutput } from './slots.js';

export function maxAttempts(spec: JobSpec): number {
  return spec.recovery?.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
}

/** Undefined: no limit. */
export function timeoutMs(spec: JobSpec): number | undefined {
  return spec.timeout === undefined ? undefined : parseDuration(spec.timeout);
}

/** Characters of an engine's words that a Job repeats. */
const LONGEST_MESSAGE = 500;

/** What does not exist now will not exist at the next try. An output that another Job may still write is `OutputNotReady`, and waited for. */
const LASTING: ReadonlySet<string> = new Set([
  'CommandNotFound',
  'CommandNotExecutable',
  'ImageNotFound',
  'InvalidSource',
  'OutputNotFound',
]);

export type AttemptChanged = Extract<ObjectMessage, { type: 'AttemptChanged' }>;

export function attemptSucceeded(draft: JobDraft, slot: Slot, change: AttemptChanged): void {
  const outputs = (change.outputs ?? []).filter(isCollected).map(({ name, sha256, size, directory }) => ({
    name,
    sha256,
    size,
    ...(directory && { directory }),
  }));
  noteUncollected(draft, slot, change.outputs ?? []);
  const done: Slot = {
    index: slot.index,
    epoch: slot.epoch,
    phase: 'Succeeded',
    failures: slot.failures,
    detail: {
      ...kept(slot),
      time: change.time,
      ...(outputs.length > 0 && { outputs }),
    },
  };
  if (change.units !== undefined) draft.keep({ units: (draft.private.units ?? 0) + change.units });
  draft.put(done);
  if (draft.private.lastFailure?.index === slot.index) draft.keep({ lastFailure: undefined });
  if (outputs.length > 0) draft.collected.push({ slot: done, time: change.time });
}

/** A Job that has succeeded without an output says so. */
function noteUncollected(draft: JobDraft, slot: Slot, outputs: readonly CollectedOutput[]): void {
  for (const { name, error } of outputs) {
    if (error === undefined) continue;
    const before = draft.private.uncollected;
    const first = before?.first ?? `${name} of index ${slot.index}: ${error.slice(0, LONGEST_MESSAGE)}`;
    draft.keep({ uncollected: { count: (before?.count ?? 0) + 1, first } });
  }
}

/** The work itself failed. */
export function attemptFailed(draft: JobDraft, slot: Slot, change: AttemptChanged): Ending | undefined {
  const { reason } = change;
  if (reason === 'CapacityUnavailable') {
    // No machine will ever have such a place: waiting and trying again would only hide it.
    draft.put({ ...slot, phase: 'Failed', detail: { ...kept(slot), reason } });
    return { phase: 'Failed', reason, message: change.message || `index ${slot.index} fits no machine` };
  }
  const failures = slot.failures + 1;
  const used = draft.failures + 1;
  const { backoffLimit } = draft.job.spec;
  const last = `index ${slot.index}: ${describe(change)}`;
  if (LASTING.has(reason)) {
    draft.put({ ...slot, phase: 'Failed', failures, detail: { ...kept(slot), reason } });
    return { phase: 'Failed', reason, message: last };
  }
  if (used > backoffLimit) {
    draft.put({ ...slot, phase: 'Failed', failures, detail: { ...kept(slot), reason } });
    return backoffLimitExceeded(used, backoffLimit, last);
  }
  const retryAt = draft.now + failureDelay(failures);
  draft.put({ ...slot, phase: 'Waiting', failures, detail: { ...kept(slot), reason, retryAt } });
  const message = `${last}; failure ${used}, and backoffLimit is ${backoffLimit}`;
  draft.keep({ lastFailure: { index: slot.index, reason, message } });
  draft.effects.push(emit('job.attempt_failed', message));
  return undefined;
}

/** The capacity failed, not the work. `reason` is the Attempt's (`NodeLost`, …). */
export function attemptLost(draft: JobDraft, slot: Slot, reason: string, message: string): Ending | undefined {
  const lost = (slot.detail.lost ?? 0) + 1;
  const news = `index ${slot.index} lost its capacity at epoch ${slot.epoch}${message === '' ? '' : `: ${message}`}`;
  draft.effects.push(emit(reason === 'Preempted' ? 'job.preempted' : 'job.node_lost', news));
  const { spec } = draft.job;
  const limit = maxAttempts(spec);
  if (spec.recovery?.onInterruption === 'Fail') {
    draft.put({ ...slot, phase: 'Failed', detail: { ...kept(slot), lost, reason } });
    return { phase: 'Failed', reason, message: `index ${slot.index} lost its capacity, and onInterruption is Fail` };
  }
  if (lost > limit) {
    draft.put({ ...slot, phase: 'Failed', detail: { ...kept(slot), lost, reason } });
    return {
      phase: 'Failed',
      reason: 'MaxAttemptsExceeded',
      message: `index ${slot.index} lost its capacity ${lost} times; recovery.maxAttempts is ${limit}`,
    };
  }
  const retryAt = draft.now + replacementDelay(lost);
  draft.put({ ...slot, phase: 'Waiting', detail: { lost, reason, replaces: true, retryAt } });
  return undefined;
}

/** It was stopped, by this Job or from outside: the index is still to be done. */
export function attemptStopped(draft: JobDraft, slot: Slot, reason: string): void {
  draft.put({ ...slot, phase: 'Waiting', detail: { ...kept(slot), reason, retryAt: 0 } });
}

export function backoffLimitExceeded(used: number, limit: number, last: string): Ending {
  const message = `${used} ${used === 1 ? 'failure' : 'failures'}, and backoffLimit is ${limit}${last === '' ? '' : `; ${last}`}`;
  return { phase: 'Failed', reason: 'BackoffLimitExceeded', message };
}

/** What stays of a slot's detail from one Attempt to the next. */
function kept(slot: Slot): { readonly lost?: number } {
  return slot.detail.lost === undefined ? {} : { lost: slot.detail.lost };
}

function describe({ reason, message, exitCode }: AttemptChanged): string {
  if (message !== '') return `${reason}: ${message.slice(0, LONGEST_MESSAGE)}`;
  return exitCode === undefined ? reason : `${reason}, exit code ${exitCode}`;
}

function isCollected(output: CollectedOutput): output is CollectedOutput & SlotOutput {
  return output.error === undefined;
}
