/**
 * What an object's status shows of its cost: the ledger's figures in `status.cost`, those of an Attempt in `status.actual`. A display copy;
 * nothing decides by it. The same for every kind with these fields, before its machine sees a message. Pure.
 */
import { equalJson } from '../api/equal.js';
import type { ApiObject } from '../api/object.js';
import { rfc3339 } from '../api/time.js';
import { formatUsd } from '../api/usd.js';
import { SEGMENTS } from '../money/hold.js';
import { USD } from '../money/usd.js';
import type { KindDefinition } from './kind.js';
import type { CostFigures } from './object-message.js';
import type { Cost } from './shapes/status.js';

type Kind = Pick<KindDefinition, 'schema' | 'machine'>;

type Segments = NonNullable<Cost['bySegment']>;

interface CostlyStatus {
  readonly cost?: Cost | undefined;
  readonly actual?: Readonly<Record<string, unknown>> | undefined;
}

const SEGMENT_FIELDS = {
  Boot: 'bootUSD',
  Running: 'runningUSD',
  Restore: 'restoreUSD',
  Teardown: 'teardownUSD',
} as const;

/** The object with these figures in its status; the same one when they are there already, or its kind has no place for them. */
export function showCost(object: ApiObject, kind: Kind, figures: CostFigures): ApiObject {
  const status = (object.status ?? {}) as CostlyStatus;
  const fields = statusFields(kind);
  if ('cost' in fields) {
    const cost = costOf(object, figures, hasEnded(object, kind));
    return equalJson(cost, status.cost) ? object : { ...object, status: { ...status, cost } };
  }
  if ('actual' in fields) {
    const actual = { ...status.actual, costUSD: formatUsd(figures.totalUSD), segments: segmentsOf(figures) };
    return equalJson(actual, status.actual) ? object : { ...object, status: { ...status, actual } };
  }
  return object;
}

/**
 * The object has ended, and its status does not say yet whether that was the last charge: figures that are read from now on will. Until
 * then something of it is under way.
 */
export function awaitsFinalCost(object: ApiObject, kind: Kind): boolean {
  const { cost } = (object.status ?? {}) as CostlyStatus;
  return cost !== undefined && cost.final !== true && 'cost' in statusFields(kind) && hasEnded(object, kind);
}

function hasEnded(object: ApiObject, { machine }: Kind): boolean {
  return machine.isTerminal?.(object.status) ?? false;
}

/** Of its Zod object. */
function statusFields({ schema }: Kind): object {
  return 'shape' in schema.status && typeof schema.status.shape === 'object' ? (schema.status.shape ?? {}) : {};
}

function costOf(object: ApiObject, figures: CostFigures, ended: boolean): Cost {
  const { totalUSD, heldUSD, holders, rateUSDPerHour, fundedUntil } = figures;
  const { maxCostUSD } = (object.spec ?? {}) as { readonly maxCostUSD?: unknown };
  return {
    bySegment: segmentsOf(figures),
    // One that has nothing left to hold is charged once more at its end.
    final: ended && holders === 0,
    ...(fundedUntil !== undefined && { fundedUntilTime: rfc3339(fundedUntil) }),
    heldUSD: formatUsd(heldUSD),
    ...(typeof maxCostUSD === 'string' && { limitUSD: formatUsd(maxCostUSD) }),
    ...(rateUSDPerHour !== undefined && { rateUSDPerHour: formatUsd(rateUSDPerHour) }),
    totalUSD: formatUsd(totalUSD),
  };
}

/** Those that cost something, and those of which the service paid some. */
function segmentsOf({ segments, covered }: CostFigures): Segments {
  const charged = SEGMENTS.flatMap((segment) => {
    const amount = segments[segment];
    return amount === undefined || new USD(amount).isZero() ? [] : [[SEGMENT_FIELDS[segment], formatUsd(amount)]];
  });
  return {
    ...Object.fromEntries(charged),
    ...(covered.length > 0 && { coveredBySvc: SEGMENTS.filter((segment) => covered.includes(segment)) }),
  };
}
