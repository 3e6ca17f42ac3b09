/** Whether a Model is available: something serves it, and its time is not over. Its status, from that. Pure. */
import { setCondition } from '../../api/conditions.js';
import { parseTime } from '../../api/time.js';
import type { ModelSpec, ModelStatus } from './schema.js';

/** What the gateway has told. */
export interface Serving {
  readonly available: boolean;
  /** For people. */
  readonly message: string;
}

export const UNSERVED: Serving = { available: false, message: 'no route serves this model' };

/** When it is available no more (ms); undefined: no such time is announced. */
export function endOf({ deprecationTime }: ModelSpec): number | undefined {
  return deprecationTime === undefined ? undefined : parseTime(deprecationTime);
}

export function isDeprecated(spec: ModelSpec, now: number): boolean {
  const end = endOf(spec);
  return end !== undefined && now >= end;
}

function reasonOf(spec: ModelSpec, { available, message }: Serving, now: number): { reason: string; message: string } {
  if (isDeprecated(spec, now))
    return { reason: 'Deprecated', message: `it is served no more since ${spec.deprecationTime}` };
  return { reason: available ? 'Served' : 'UpstreamUnavailable', message };
}

export function availability(spec: ModelSpec, before: ModelStatus, serving: Serving, now: number): ModelStatus {
  const available = serving.available && !isDeprecated(spec, now);
  const standing = { status: available ? ('True' as const) : ('False' as const), ...reasonOf(spec, serving, now) };
  const ready = setCondition(before.conditions, { type: 'Ready', ...standing }, now);
  const conditions = setCondition(ready, { type: 'Available', ...standing }, now);
  return { available, conditions: [...conditions], phase: available ? 'Ready' : 'Pending' };
}
