/**
 * What a Workspace keeps beside its status (plain JSON, times in ms since the epoch), the numbers that rule its times, and the draft of
 * one decision.
 */
import { parseDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { API_GROUP } from '../../brand.js';
import type { Current, DecisionContext } from '../machine.js';
import type { RevisionRef, SavedFiles } from '../object-message.js';
import { SingleAttemptDraft } from '../single-attempt/draft.js';
import type { SingleAttemptPrivate } from '../single-attempt/state.js';
import type { BrowserTool } from './browser-tools.js';
import type { WorkspaceSpec, WorkspaceStatus } from './schema.js';

/** The machine is started so long before it must be ready. */
export const SCHEDULE_LEAD_MS = 15 * 60_000;

/** A Volume that has not answered is asked again after this. */
export const ASK_AGAIN_MS = 10_000;

/** One that is held by somebody else is asked again after this; it tells the first who wait as soon as it is free. */
export const DENIED_AGAIN_MS = 60_000;

/** Undefined: never (`0s`). */
export function idleTimeoutMs(spec: WorkspaceSpec): number | undefined {
  return parseDuration(spec.idleTimeout) || undefined;
}

/** From its start by `schedule` it is kept until `readyBy`; one that runs long before that start may be idle. */
function idleFrom({ schedule }: WorkspaceSpec, now: number): number | undefined {
  const readyBy = parseTime(schedule?.readyBy ?? '');
  return readyBy !== undefined && readyBy - SCHEDULE_LEAD_MS <= now ? readyBy : undefined;
}

export type Workspace = ApiObject<WorkspaceSpec, WorkspaceStatus>;

/**
 * What it has to do with the Volume of its home: from the decision that asks for the lease to the Volume's word that it has ended.
 *
 *   Wanted ─▶ Granted ─▶ (an Attempt runs) ─▶ Returning ─▶ none
 *     │ ▲                   └ lost: Wanted for the next epoch
 *     ▼ │
 *   Denied
 */
export interface HomeLease {
  readonly volume: string;
  /** Of the Volume that granted it. */
  readonly of?: string | undefined;
  readonly term: number;
  /** Of the Attempt that it is for. */
  readonly epoch: number;
  readonly at: 'Wanted' | 'Denied' | 'Granted' | 'Returning';
  /** When it came to this. */
  readonly since: number;
  /** Granted: what the Volume holds. */
  readonly home?: RevisionRef | undefined;
  /** Granted: most bytes that it may hold. */
  readonly size?: number | undefined;
  /** What that Attempt has left, until the Volume has it. */
  readonly saved?: SavedFiles | undefined;
  /** Denied: why. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface WorkspacePrivate extends SingleAttemptPrivate {
  readonly lease?: HomeLease | undefined;
  /** Browser tools that there are programs for inside, as was found at this epoch. */
  readonly found?: { readonly epoch: number; readonly tools: readonly BrowserTool[] } | undefined;
  /** Leases that were asked for. */
  readonly terms: number;
  /** Its Attempt waits for a place since then. */
  readonly queuedSince?: number | undefined;
  /** Times of `schedule` that have come: each is carried out once. */
  readonly started?: number | undefined;
  readonly stopped?: number | undefined;
  /** Made with a `schedule.readyBy`: it waits for that time. */
  readonly waits?: boolean | undefined;
}

export const FRESH: WorkspacePrivate = { epoch: 0, timers: {}, lost: 0, terms: 0 };

export type WorkspaceDraft = SingleAttemptDraft<WorkspaceSpec, WorkspaceStatus, WorkspacePrivate>;

export const WORKSPACE_LABEL = `${API_GROUP}/workspace`;

export function openDraft(
  current: Current<WorkspaceSpec, WorkspaceStatus, WorkspacePrivate>,
  context: Pick<DecisionContext, 'now' | 'prices'>,
): WorkspaceDraft {
  const { address, object, private: kept = FRESH } = current;
  const rules = {
    label: WORKSPACE_LABEL,
    idleTimeoutMs: idleTimeoutMs(object.spec),
    idleFrom: idleFrom(object.spec, context.now),
  };
  return new SingleAttemptDraft(address, object, kept, rules, context);
}
