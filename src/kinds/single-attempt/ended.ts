/**
 * What the end of the one Attempt means: whether what it was to save was saved, and whether the object stops, fails or is
 * brought back. Source: spec, "States and transitions".
 */
import { replacementDelay } from '../attempts/back-off.js';
import type { CollectedOutput, ObjectMessage } from '../object-message.js';
import { DEFAULT_MAX_ATTEMPTS } from '../shapes/recovery.js';
import { fundingReason, MAX_COST_REACHED, sayShortfall, UNFUNDED } from '../attempts/holds.js';
import type { SingleAttemptDraft } from './draft.js';
import { stopUnfunded } from './funding.js';
import type { Failure, Live } from './state.js';

/** An Attempt that ran for so long before it was lost is not one of a row. */
const STEADY_MS = 10 * 60_000;

export type AttemptChanged = Extract<ObjectMessage, { type: 'AttemptChanged' }>;

/** What has become of what an Attempt was to save. */
export type Saved =
  /** `digest` is `sha256:…` of a tar.zst; `time` in ms. */
  | {
      readonly saved: 'Whole';
      readonly digest: string;
      readonly size: number;
      readonly logical?: number | undefined;
      readonly time: number;
    }
  /** Nothing was changed by what never ran. */
  | { readonly saved: 'Nothing' }
  | { readonly saved: 'Failed'; readonly reason: string; readonly message: string };

/** It has just ended: the caller notes what was saved, then says what the end means (`afterEnd`). */
export function noteEnd(draft: SingleAttemptDraft, live: Live): void {
  draft.keep({ live: { ...live, phase: 'Ended', acknowledged: true }, busyAt: undefined });
}

/** What follows from an end that nobody has asked for; one that was asked for is what it was asked for. */
export function afterEnd(draft: SingleAttemptDraft, live: Live, change: AttemptChanged): void {
  if (live.stopping) return;
  switch (change.phase) {
    case 'Succeeded':
      draft.stop('CommandExited', 'Its command ended with exit code 0');
      return;
    case 'Failed':
      if (change.lost) attemptLost(draft, live, change.reason, change.message);
      else draft.keep({ failure: failureOf(hasRun(live, change), change), recovering: undefined });
      return;
    default:
      if (change.reason === UNFUNDED || change.reason === MAX_COST_REACHED) {
        const { shortfall } = change;
        const reason = change.reason === MAX_COST_REACHED ? MAX_COST_REACHED : fundingReason(shortfall);
        stopUnfunded(draft, reason, `Stopped: ${sayShortfall(shortfall)}`);
        return;
      }
      attemptLost(draft, live, change.reason, 'its Attempt was stopped from outside');
  }
}

/** The capacity failed, not the work: the next epoch begins once nothing is left of this one. */
export function attemptLost(draft: SingleAttemptDraft, live: Live, reason: string, message: string): void {
  const steady = live.runningSince !== undefined && draft.now - live.runningSince >= STEADY_MS;
  const lost = steady ? 1 : draft.private.lost + 1;
  if (lost > DEFAULT_MAX_ATTEMPTS) {
    const failure = { reason, message: `lost ${lost} times one after another: ${message}` };
    draft.keep({ lost, failure, recovering: undefined });
    return;
  }
  draft.keep({ lost, recovering: { reason, message }, notBefore: draft.now + replacementDelay(lost) });
}

/** What became of the output `name`, a directory that is saved whole. */
export function savedOf(name: string, live: Live, change: AttemptChanged): Saved {
  const output = change.outputs?.find((each) => each.name === name);
  if (output !== undefined && isWhole(output)) {
    const digest = `sha256:${output.sha256.replace(/^sha256:/, '')}`;
    return { saved: 'Whole', digest, size: output.size, logical: output.logical, time: change.time };
  }
  if (!hasRun(live, change) && output === undefined) return { saved: 'Nothing' };
  const why = output?.error ?? (change.lost ? `${change.reason}: its files are lost` : 'its files were not collected');
  return { saved: 'Failed', reason: change.lost ? change.reason : 'CollectionFailed', message: why };
}

function isWhole(output: CollectedOutput): boolean {
  return output.error === undefined && output.directory === true;
}

function hasRun(live: Live, change: AttemptChanged): boolean {
  return live.phase === 'Running' && !neverBegan(change);
}

/** Ends of a program that did run. */
const RAN = new Set(['CustomerExit', 'OutOfMemory']);

/** A start may be told before it is known that there is no such program. */
function neverBegan({ phase, lost, exitCode, reason }: AttemptChanged): boolean {
  return phase === 'Failed' && !lost && exitCode === undefined && !RAN.has(reason);
}

function failureOf(ran: boolean, { reason, message, exitCode }: AttemptChanged): Failure {
  const said = message || (exitCode === undefined ? reason : `exit code ${exitCode}`);
  if (ran || reason === 'CapacityUnavailable') return { reason, message: said };
  return { reason: 'StartupFailed', message: said === reason ? reason : `${reason}: ${said}` };
}
