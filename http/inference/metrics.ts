/**
 * Metrics of requests to models: how many and how they ended, tokens, USD, and how long the first byte took.
 *
 * Labels are names of Models as the catalog has them, never as a client spells them, and fixed words. I10: so there are at most as many series
 * as Models times routes times outcomes; a Model that leaves the catalog keeps its series until the next start. A request that names no Model,
 * or comes without a key, is counted by `troupe_http_requests_total` alone.
 */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { AudioOperation, Operation } from '../../src/engines/inference/dialects/dialect.js';
import { promptTokens } from '../../src/money/model-prices.js';
import type { AdmittedRequest } from '../../actors/inference/service.js';

/**
 * Done: answered to its own end. Left: its client went before. Broken: a stream that its upstream, the service or a bound has cut. Failed: 5xx.
 * Limited: 429. Unfunded: 402. Refused: every other 4xx, that of an upstream too.
 */
export type InferenceOutcome = 'Done' | 'Left' | 'Broken' | 'Failed' | 'Limited' | 'Unfunded' | 'Refused';

/** One request. Without a Model nothing of it is counted. */
export interface MeasuredRequest {
  /** `name`: of the Model, from the catalog. */
  names(name: string): void;
  /** The same request, of which tokens and USD are counted when it ends. */
  admitted(request: AdmittedRequest): AdmittedRequest;
  /** An upstream has begun to answer. `ms`: since the request came. */
  opened(ms: number): void;
  /** Harmless twice: the first one counts. */
  ended(outcome: InferenceOutcome): void;
}

export interface InferenceMetrics {
  begin(operation: Operation | AudioOperation): MeasuredRequest;
}

/** Seconds. From a server beside this one to a model that reasons for minutes. */
const BOUNDS = [0.05, 0.2, 0.5, 1, 2, 5, 15, 60];

export function openInferenceMetrics(registry: Registry): InferenceMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'troupe_inference_requests_total',
    help: 'Requests to models by route and outcome: Done, Left, Broken, Failed, Limited, Unfunded or Refused.',
    ...{ labelNames: ['model', 'operation', 'outcome'], registers },
  });
  const tokens = new Counter({
    name: 'troupe_inference_tokens_total',
    help: 'Tokens of requests that have ended: in (those of caches too) and out (reasoning too).',
    ...{ labelNames: ['model', 'direction'], registers },
  });
  const charged = new Counter({
    name: 'troupe_inference_charged_usd_total',
    help: 'USD that requests were charged, rounded as a float; the ledger has the exact sums.',
    ...{ labelNames: ['model'], registers },
  });
  const firstByte = new Histogram({
    name: 'troupe_inference_first_byte_seconds',
    help: 'Time from the arrival of a request until an upstream has begun to answer, tries of others included.',
    ...{ labelNames: ['model'], buckets: BOUNDS, registers },
  });

  function begin(operation: Operation | AudioOperation): MeasuredRequest {
    let model: string | undefined;
    let over = false;
    let settled = false;
    return {
      names: (name) => (model = name),
      admitted: (request) => ({
        ...request,
        charge(costUSD) {
          const cost = request.charge(costUSD);
          if (settled || model === undefined) return cost;
          settled = true;
          charged.inc({ model }, Number(cost.billionths) / 1e9);
          return cost;
        },
        end(usage) {
          const cost = request.end(usage);
          if (settled || model === undefined) return cost;
          settled = true;
          tokens.inc({ model, direction: 'in' }, usage === undefined ? 0 : promptTokens(usage));
          tokens.inc({ model, direction: 'out' }, usage?.outputTokens ?? 0);
          charged.inc({ model }, Number(cost.billionths) / 1e9);
          return cost;
        },
      }),
      opened(ms) {
        if (model !== undefined) firstByte.observe({ model }, ms / 1_000);
      },
      ended(outcome) {
        if (!over && model !== undefined) requests.inc({ model, operation, outcome });
        over = true;
      },
    };
  }

  return { begin };
}

/** Of a request that ended by an error, which was answered with this status; 499: its client had left. */
export function outcomeOfStatus(status: number): InferenceOutcome {
  switch (status) {
    case 402:
      return 'Unfunded';
    case 429:
      return 'Limited';
    case 499:
      return 'Left';
    default:
      return status >= 500 ? 'Failed' : 'Refused';
  }
}
