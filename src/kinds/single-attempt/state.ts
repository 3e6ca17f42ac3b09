/**
 * What a kind keeps that runs at most one Attempt at a time, each for as long as its client wants it: a Sandbox, a Workspace.
 * Times are in ms since the epoch. Plain JSON.
 */
import { API_GROUP } from '../../brand.js';
import type { Condition } from '../../api/object.js';
import type { AdmittedPayer } from '../attempts/payer.js';
import type { SecretMount } from '../shapes/program.js';
import type { Resources } from '../shapes/resources.js';
import type { SecretRef } from '../work.js';

/** What the specs of these kinds have in common. */
export interface SingleAttemptSpec {
  readonly state: 'Running' | 'Stopped';
  readonly maxCostUSD?: string | undefined;
  readonly resources?: Resources | undefined;
}

/** What their statuses have in common. */
export interface SingleAttemptStatus {
  phase?: string | undefined;
  attempt?: { epoch?: number | undefined; name?: string | undefined } | undefined;
  conditions?: Condition[] | undefined;
  lastActivityTime?: string | undefined;
  secretVersionIDs?: Record<string, string> | undefined;
  secretVersions?: Record<string, number> | undefined;
  stopReason?: string | undefined;
}

/** Holds the object while an Attempt of it is not proven gone. */
export const ATTEMPT_FINALIZER = `${API_GROUP}/attempt`;

/** The one Attempt that may run something: from the commit that makes it to the proof that nothing of it is left. */
export interface Live {
  readonly epoch: number;
  /** Made: it waits for a place, or nothing was heard of it yet. Ended: what is left of it is being removed. */
  readonly phase: 'Made' | 'Placed' | 'Running' | 'Ended';
  /** It has sent a message, so it exists; when it is not found any more, it is gone. */
  readonly acknowledged: boolean;
  /** Asked to stop, or to go. */
  readonly stopping: boolean;
  /** Nothing of it runs any more, and it has not ended: what it was to save could not be saved yet. */
  readonly unsaved?: boolean | undefined;
  /** When its program began. */
  readonly runningSince?: number | undefined;
  /** Why it has no place yet, as the Node told it. */
  readonly wait?: string | undefined;
}

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export interface SingleAttemptPrivate {
  /** Who pays, as admitted. Absent: it was created before there were prices. */
  readonly payer?: AdmittedPayer | undefined;
  /** Of the last Attempt that was made; 0 before the first. */
  readonly epoch: number;
  readonly live?: Live | undefined;
  /** Timers that are armed, and for when. */
  readonly timers: Readonly<Record<string, number>>;
  /** Attempts lost one after another. */
  readonly lost: number;
  /** The last Attempt was lost, and none has run since. */
  readonly recovering?: Failure | undefined;
  /** The next start waits until then. */
  readonly notBefore?: number | undefined;
  readonly failure?: Failure | undefined;
  /** Why it was stopped last, for people; the one word for it is `status.stopReason`. */
  readonly stopMessage?: string | undefined;
  /** Something ran in it or was asked of it. */
  readonly activeAt?: number | undefined;
  /** When it was last said that something is under way; undefined: nothing is. */
  readonly busyAt?: number | undefined;
}

/** Whether the Attempt of this epoch is the live one and has not ended. `kept` is a `SingleAttemptPrivate`, or absent. */
export const isLive: { by(kept: unknown, epoch: number): boolean }['by'] = (
  kept: SingleAttemptPrivate | undefined,
  epoch,
) => kept?.live?.epoch === epoch && kept.live.phase !== 'Ended';

/** The versions of its Secrets that an epoch mounts. Once noted for it, a start that is carried out again takes the same. */
export function pinnedSecrets(
  secrets: readonly SecretMount[] | undefined,
  status: SingleAttemptStatus,
  epoch: number,
): readonly SecretRef[] {
  const noted = status.attempt?.epoch === epoch ? status.secretVersions : undefined;
  return (secrets ?? []).map(({ name, version }) => {
    const pinned = version ?? noted?.[name];
    return pinned === undefined ? { name } : { name, version: pinned };
  });
}
