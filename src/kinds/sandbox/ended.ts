/**
 * Owns what the end of the one Attempt means: whether the files of /workspace were saved, and whether the Sandbox stops,
 * fails or is brought back. Source: spec, "Sandbox", "States and transitions".
 */
import { rfc3339 } from '../../api/time.js';
import type { CollectedOutput, Letter } from '../letter.js';
import { releaseOutputs } from './attempts.js';
import type { SandboxDraft } from './draft.js';
import { SNAPSHOT } from './plan.js';
import { MAX_LOST, recoveryDelayMs, STEADY_MS } from './policy.js';
import { WORKSPACE_DIR } from './schema.js';
import type { Failure, Live } from './state.js';

export type AttemptChanged = Extract<Letter, { letter: 'AttemptChanged' }>;

export function attemptEnded(draft: SandboxDraft, live: Live, letter: AttemptChanged): void {
  draft.keep({ live: { ...live, phase: 'Ended', heard: true }, busyAt: undefined });
  if (draft.deleting) return;
  const ran = live.phase === 'Running' && !neverBegan(letter);
  keepFiles(draft, ran, letter);
  // Whatever else became of it, this is what it was asked for.
  if (live.stopping) return;
  switch (letter.phase) {
    case 'Succeeded':
      draft.stop('CommandExited');
      return;
    case 'Failed':
      if (letter.lost) attemptLost(draft, live, letter.reason, letter.message);
      else draft.keep({ failure: failureOf(ran, letter), recovering: undefined });
      return;
    default:
      attemptLost(draft, live, letter.reason, 'its Attempt was stopped from outside');
  }
}

/** The capacity failed, not the work: the next epoch begins once nothing is left of this one. */
export function attemptLost(draft: SandboxDraft, live: Live, reason: string, message: string): void {
  const steady = live.runningSince !== undefined && draft.now - live.runningSince >= STEADY_MS;
  const lost = steady ? 1 : draft.private.lost + 1;
  if (lost > MAX_LOST) {
    const failure = { reason, message: `lost ${lost} times one after another: ${message}` };
    draft.keep({ lost, failure, recovering: undefined });
    return;
  }
  draft.keep({ lost, recovering: { reason, message }, notBefore: draft.now + recoveryDelayMs(lost) });
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

/** The older snapshot stands until a newer one is whole. */
function keepFiles(draft: SandboxDraft, ran: boolean, letter: AttemptChanged): void {
  if (!draft.snapshots) {
    // What an earlier mode has kept is of no use any more.
    if (draft.status.snapshot !== undefined) draft.say({ snapshot: undefined });
    return;
  }
  const output = letter.outputs?.find(({ name }) => name === SNAPSHOT);
  if (output !== undefined && isWhole(output)) {
    const digest = `sha256:${output.sha256.replace(/^sha256:/, '')}`;
    draft.say({ snapshot: { reason: 'Stop', time: rfc3339(letter.time), digest, size: output.size } });
    draft.effects.push(releaseOutputs(draft, letter.epoch));
    draft.condition('StateSaved', true, 'Saved', `${WORKSPACE_DIR} was saved`);
    return;
  }
  // Nothing was changed by what never ran.
  if (!ran && output === undefined) return;
  const why = output?.error ?? (letter.lost ? `${letter.reason}: its files are lost` : 'its files were not collected');
  const { time } = draft.status.snapshot ?? {};
  const stands = time === undefined ? 'there is no earlier snapshot' : `the snapshot of ${time} stands`;
  draft.condition('StateSaved', false, letter.lost ? letter.reason : 'CollectionFailed', `${why}; ${stands}`);
}

function isWhole(output: CollectedOutput): boolean {
  return output.error === undefined && output.directory === true;
}
