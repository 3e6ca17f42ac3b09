/** Owns one decision of a Sandbox while it is being made. */
import { API_GROUP } from '../../brand.js';
import { parseTime } from '../../api/time.js';
import type { Current } from '../machine.js';
import { SingleAttemptDraft } from '../single-attempt/draft.js';
import { idleTimeoutMs } from './policy.js';
import type { SandboxSpec, SandboxStatus } from './schema.js';
import { FRESH, type SandboxPrivate } from './state.js';

export type SandboxDraft = SingleAttemptDraft<SandboxSpec, SandboxStatus, SandboxPrivate>;

export const SANDBOX_LABEL = `${API_GROUP}/sandbox`;

export function openDraft(current: Current<SandboxSpec, SandboxStatus, SandboxPrivate>, now: number): SandboxDraft {
  const { address, object, private: kept = FRESH } = current;
  const rules = { label: SANDBOX_LABEL, idleTimeoutMs: idleTimeoutMs(object.spec) };
  return new SingleAttemptDraft(address, object, kept, rules, now);
}

export function createdAt({ object, now }: SandboxDraft): number {
  return parseTime(object.metadata.creationTimestamp) ?? now;
}
