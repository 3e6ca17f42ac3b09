/** What a Sandbox keeps beside its status (plain JSON), the numbers that rule its times, and the draft of one decision. */
import { parseDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { API_GROUP } from '../../brand.js';
import type { Current, DecisionContext } from '../machine.js';
import { SingleAttemptDraft } from '../single-attempt/draft.js';
import type { SingleAttemptPrivate } from '../single-attempt/state.js';
import type { SandboxSpec, SandboxStatus } from './schema.js';

export type Sandbox = ApiObject<SandboxSpec, SandboxStatus>;

/** An annotation that asks for something, until that is carried out. */
export interface Request {
  readonly value: string;
  /** Epoch at which it was asked. */
  readonly epoch: number;
}

export interface SandboxPrivate extends SingleAttemptPrivate {
  /** By annotation. */
  readonly requests: Readonly<Record<string, Request>>;
  /** Starting or stopping, since when, and whether an event has said that this takes too long. */
  readonly transition?: { readonly phase: string; readonly since: number; readonly reported: boolean } | undefined;
}

export const FRESH: SandboxPrivate = { epoch: 0, timers: {}, lost: 0, requests: {} };

/** A start or a stop that takes longer is reported (`sandbox.stuck`). The longest stop by itself takes a minute. */
export const STUCK_MS = 5 * 60_000;

/** Undefined: never (`0s`). */
export function idleTimeoutMs(spec: SandboxSpec): number | undefined {
  return parseDuration(spec.lifecycle.idleTimeout) || undefined;
}

export function maxLifetimeMs(spec: SandboxSpec): number {
  return parseDuration(spec.lifecycle.maxLifetime) ?? 0;
}

export type SandboxDraft = SingleAttemptDraft<SandboxSpec, SandboxStatus, SandboxPrivate>;

export const SANDBOX_LABEL = `${API_GROUP}/sandbox`;

export function openDraft(
  current: Current<SandboxSpec, SandboxStatus, SandboxPrivate>,
  context: Pick<DecisionContext, 'now' | 'prices'>,
): SandboxDraft {
  const { address, object, private: kept = FRESH } = current;
  const rules = { label: SANDBOX_LABEL, idleTimeoutMs: idleTimeoutMs(object.spec) };
  return new SingleAttemptDraft(address, object, kept, rules, context);
}

export function createdAt({ object, now }: SandboxDraft): number {
  return parseTime(object.metadata.creationTimestamp) ?? now;
}
