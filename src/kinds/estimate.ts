/** What work would cost and where it would run: nothing, on this machine, until there are prices. Source: spec, "Conventions" 6. */
import { causeLine } from '../api/errors/cause-line.js';
import { ERROR_TABLE } from '../api/errors/table.js';
import type { ApiObject } from '../api/object.js';
import type { Refusal } from '../api/refusal.js';
import { parseTime, rfc3339 } from '../api/time.js';
import { LOCAL_OFFERING, LOCAL_REGION } from './offering/local.js';
import type { Estimate } from './shapes/status.js';

/** How long an estimate is worth something. */
const VALID_MS = 15 * 60_000;
const NOTHING = '0.00';
/** With this reason work fails that no Node can take. */
const NO_CAPACITY = 'CapacityUnavailable';

export function estimateWork(work: ApiObject): Estimate {
  const now = parseTime(work.metadata.creationTimestamp) ?? 0;
  return {
    costUSD: { p50: NOTHING, p90: NOTHING },
    holdUSD: NOTHING,
    minimumChargeUSD: NOTHING,
    overheadUSD: { p50: NOTHING, p90: NOTHING },
    placementPreview: {
      interruptible: false,
      offering: LOCAL_OFFERING,
      regionClass: LOCAL_REGION,
      warmReuse: false,
    },
    rateUSDPerHour: NOTHING,
    validUntil: rfc3339(now + VALID_MS),
    warnings: [],
  };
}

/** What stands against new work. */
export interface Obstacles {
  /** A real create is refused with it. */
  readonly refusal?: Refusal | undefined;
  /** It would be created, and no Node has what it asks for. */
  readonly neverFits?: readonly string[] | undefined;
}

/** Says it in the estimate of a new object, which then names no offering. An object without an estimate stays as it is. */
export function obstruct(object: ApiObject, { refusal, neverFits = [] }: Obstacles): ApiObject {
  const status = object.status as { readonly estimate?: Estimate } | undefined;
  if (status?.estimate === undefined) return object;
  if (refusal === undefined && neverFits.length === 0) return object;
  const { placementPreview: _nowhere, ...estimate } = status.estimate;
  const obstructed: Estimate = {
    ...estimate,
    ...(refusal === undefined ? {} : { blockingReasons: reasonsOf(refusal) }),
    warnings: [...(estimate.warnings ?? []), ...neverFits.map((message) => ({ code: NO_CAPACITY, message }))],
  };
  return { ...object, status: { ...status, estimate: obstructed } };
}

/** One for each field, in the words of the refusal. */
function reasonsOf({ code, message, causes = [], fix = ERROR_TABLE[code].fix }: Refusal): Estimate['blockingReasons'] {
  if (causes.length === 0) return [{ code, message, fix }];
  return causes.map((cause) => ({ code, message: causeLine(cause), fix }));
}
