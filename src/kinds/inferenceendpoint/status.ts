/**
 * The status of an InferenceEndpoint, from its spec and what is kept beside it. Ready says whether a request would be served now: not while it
 * is stopped, money refuses, or nothing serves its model, in this order. Pure.
 */
import { setCondition, type NextCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import type { ModelUsage } from '../object-message.js';
import type { InferenceEndpointSpec, InferenceEndpointStatus } from './schema.js';
import type { InferenceEndpointPrivate } from './state.js';

export const NO_USE: ModelUsage = {
  ...{ requests: 0, errors: 0, inputTokens: 0, outputTokens: 0 },
  ...{ costUSD: '0.00', openHolds: 0 },
};

type This = ApiObject<InferenceEndpointSpec, InferenceEndpointStatus>;
type Standing = Omit<NextCondition, 'type'>;

const UNKNOWN: Standing = {
  ...{ status: 'Unknown', reason: 'NotObserved' },
  message: 'whether something serves its model is not known yet',
};

function modelStanding({ model }: InferenceEndpointPrivate): Standing {
  if (model === undefined) return UNKNOWN;
  const { available, reason, message } = model;
  return { status: available ? 'True' : 'False', reason, message };
}

function readiness(spec: InferenceEndpointSpec, kept: InferenceEndpointPrivate): Standing {
  const no = (reason: string, message: string): Standing => ({ status: 'False', reason, message });
  if (spec.state === 'Stopped') return no('Stopped', 'it is stopped: every request is answered with 503');
  if (kept.refusal !== undefined) return no(kept.refusal.reason, kept.refusal.message);
  const model = modelStanding(kept);
  if (model.status !== 'True') return model;
  return { status: 'True', reason: 'Serving', message: 'requests are served' };
}

/** Its use stays as it was last told. */
export function statusOf(
  { spec, metadata, status }: This,
  kept: InferenceEndpointPrivate,
  now: number,
): InferenceEndpointStatus {
  const { model: _, ...before } = status;
  const { generation } = metadata;
  const ready = readiness(spec, kept);
  const conditions = setCondition(
    setCondition(before.conditions, { type: 'Ready', ...ready, observedGeneration: generation }, now),
    { type: 'ModelAvailable', ...modelStanding(kept), observedGeneration: generation },
    now,
  );
  return {
    ...before,
    conditions: [...conditions],
    message: ready.message,
    ...(kept.model?.model !== undefined && { model: kept.model.model }),
    observedGeneration: generation,
    phase: spec.state,
    reason: ready.reason,
  };
}
