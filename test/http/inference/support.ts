/** A model, and an admitted request to it, for tests of the routes of models alone. */
import type { AdmittedRequest, InferenceTarget } from '../../../actors/inference/service.js';
import type { DialectName } from '../../../src/engines/inference/dialects/dialect.js';
import { ZERO } from '../../../src/money/usd.js';

/** One that upstreams of these dialects serve. */
export function targetOn(...dialects: readonly DialectName[]): InferenceTarget {
  return {
    model: { name: 'small', uid: 'u', spec: {}, created: '2026-01-02T03:04:05Z' },
    ...{ endpoint: undefined, project: 'default', price: {} },
    payer: {
      ...{ org: 'acme', id: 'n', owner: { uid: 'n', kind: 'Namespace', project: '', name: 'default' } },
      payer: { project: 'default', labels: {}, costs: [] },
    },
    routes: { dialects: new Set(dialects), fetching: new Set(), countTokens: undefined },
  };
}

export const ADMITTED: AdmittedRequest = {
  limits: {},
  ...{ priceOf: () => ZERO, progress: () => undefined, charge: () => ZERO, end: () => ZERO },
};
