/** The headers of an answer that a model has given: what was enforced. */
import type { Dialect } from '../../src/engines/inference/dialects/dialect.js';
import type { AdmittedRequest, InferenceTarget } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import type { Headers } from '../reply.js';
import { answerHeaders } from './errors.js';

export interface AnsweredBy {
  readonly target: Pick<InferenceTarget, 'endpoint'>;
  readonly admitted: Pick<AdmittedRequest, 'limits'>;
  readonly upstreamClass: string;
  /** ms. */
  readonly now: number;
}

export function answeredHeaders(
  x: Exchange,
  dialect: Dialect,
  { target: { endpoint }, admitted: { limits }, upstreamClass, now }: AnsweredBy,
): Headers {
  const headers = answerHeaders(x, dialect, limits, now);
  headers['x-svc-upstream-class'] = upstreamClass;
  if (endpoint !== undefined) headers['x-svc-endpoint-generation'] = String(endpoint.generation);
  return headers;
}
