/** Owns one decision of a Workspace while it is being made. */
import { API_GROUP } from '../../brand.js';
import type { Current } from '../machine.js';
import { SingleAttemptDraft } from '../single-attempt/draft.js';
import { idleTimeoutMs } from './policy.js';
import type { WorkspaceSpec, WorkspaceStatus } from './schema.js';
import { FRESH, type WorkspacePrivate } from './state.js';

export type WorkspaceDraft = SingleAttemptDraft<WorkspaceSpec, WorkspaceStatus, WorkspacePrivate>;

export const WORKSPACE_LABEL = `${API_GROUP}/workspace`;

export function openDraft(
  current: Current<WorkspaceSpec, WorkspaceStatus, WorkspacePrivate>,
  now: number,
): WorkspaceDraft {
  const { address, object, private: kept = FRESH } = current;
  const rules = { label: WORKSPACE_LABEL, idleTimeoutMs: idleTimeoutMs(object.spec) };
  return new SingleAttemptDraft(address, object, kept, rules, now);
}
