/** Owns what work would cost and where it would run: nothing, on this machine, until there are prices. Source: spec, "Conventions" 6. */
import { parseTime, rfc3339 } from '../api/time.js';
import type { ApiObject } from '../api/object.js';
import { LOCAL_OFFERING, LOCAL_REGION } from './offering/local.js';
import type { Estimate } from './shapes/estimate.js';

/** How long an estimate is worth something. */
const VALID_MS = 15 * 60_000;
const NOTHING = '0.00';

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
