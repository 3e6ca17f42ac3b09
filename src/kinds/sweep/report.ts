/**
 * The status that a Sweep shows, and each of its cells: built from the slots, so that it cannot drift from them. The status has the first
 * cells only, so that it stays small however many there are.
 */
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import type { ParentDraft, ParentPrivate } from '../children/draft.js';
import { reportParent } from '../children/report.js';
import type { ChildSlot } from '../children/slots.js';
import { isFinished, type JobPhase } from '../job/status.js';
import { cellJobName } from './cell-jobs.js';
import { cellsOf, type Cell } from './cells.js';
import type { SweepCell, SweepSpec, SweepStatus } from './schema.js';
import { rateOf, wallMs, type Best, type Cheapest } from './throughput.js';

/** Cells of a status, and their bytes as JSON. */
const MOST_SHOWN = 100;
const MOST_BYTES = 48 * 1024;
/** Of one cell beside its values: its Job's name, phase, seconds, rate and cost at their longest. */
const CELL_BYTES = 288;

/** Stored beside the Sweep and never served. */
export interface SweepPrivate extends ParentPrivate {
  /** The fastest cell that has succeeded. */
  readonly best?: Best | undefined;
  /** The cheapest one. */
  readonly cheapest?: Cheapest | undefined;
}

export function reportSweep(
  draft: ParentDraft<SweepPrivate>,
  sweep: ApiObject<SweepSpec, SweepStatus>,
  phase: JobPhase,
): SweepStatus {
  const { status: before } = sweep;
  const { slots, live } = draft.counts;
  const { best, cheapest } = draft.private;
  return {
    ...before,
    ...reportParent(draft, phase, before),
    active: slots.Active - live.Suspended,
    succeeded: slots.Succeeded,
    failed: slots.Failed,
    cancelled: phase === 'Cancelled' ? draft.children.total - slots.Succeeded - slots.Failed : slots.Cancelled,
    total: draft.children.total,
    best:
      best === undefined && cheapest === undefined
        ? undefined
        : {
            ...(cheapest !== undefined && { byCost: cheapest.index }),
            ...(best !== undefined && { byThroughput: best.index }),
          },
    cells: firstCells(draft, sweep, phase),
  };
}

/** Cells that this decision has not changed are as they were shown: a fold of many messages would build all of them for each. */
function firstCells(
  draft: ParentDraft<SweepPrivate>,
  { metadata, spec, status: before }: ApiObject<SweepSpec, SweepStatus>,
  phase: JobPhase,
): SweepCell[] {
  const cells = cellsOf(spec);
  const kept = isFinished(phase) === isFinished(before.phase) ? (before.cells ?? []) : [];
  return Array.from({ length: countShown(spec) }, (_, index) => {
    const known = draft.isChanged(index) ? undefined : kept[index];
    return known ?? reportCell(metadata, cells.at(index), draft.slot(index), phase);
  });
}

/** By spec, which is one object as long as the Sweep is in memory and unchanged. */
const shown = new WeakMap<SweepSpec, number>();

/** How many cells the status has: the same from the first to the last, so each is counted as long as it may become. */
function countShown(spec: SweepSpec): number {
  const known = shown.get(spec);
  if (known !== undefined) return known;
  const cells = cellsOf(spec);
  const most = Math.min(cells.total, MOST_SHOWN);
  let bytes = 0;
  let count = 0;
  while (count < most) {
    const { gpu, params, region } = cells.at(count);
    bytes += CELL_BYTES + Buffer.byteLength(JSON.stringify({ gpu, params, region }));
    if (bytes > MOST_BYTES) break;
    count += 1;
  }
  shown.set(spec, count);
  return count;
}

/** One cell as the status and the route show it. `sweep`: the phase of the whole. */
export function reportCell(
  metadata: ObjectMeta,
  { index, gpu, params, region, repetition }: Cell,
  slot: ChildSlot | undefined,
  sweep: JobPhase | undefined,
): SweepCell {
  const phase = phaseOfCell(slot, sweep);
  const wall = slot === undefined ? undefined : wallMs(slot);
  const rate = slot === undefined ? undefined : rateOf(slot);
  return {
    index,
    object: slot === undefined || slot.detail.uid === undefined ? undefined : cellJobName(metadata, index),
    phase,
    gpu,
    params: Object.keys(params).length === 0 ? undefined : params,
    region,
    repetition,
    wallSeconds: wall === undefined ? undefined : wall / 1000,
    unitsPerSecond: rate === undefined ? undefined : decimal(rate),
    costUSD: slot?.detail.costUSD,
  };
}

/** What was never begun when the whole was cancelled is cancelled. */
export function phaseOfCell(slot: ChildSlot | undefined, sweep: JobPhase | undefined): JobPhase {
  if (slot === undefined) return isFinished(sweep) ? 'Cancelled' : 'Pending';
  switch (slot.phase) {
    case 'Active':
      return slot.detail.live ?? 'Pending';
    case 'Waiting':
      return 'Pending';
    case 'Skipped':
      return 'Cancelled';
    default:
      return slot.phase;
  }
}

/** Six digits behind the point at most, and no exponent. */
export function decimal(rate: number): string {
  // From 1e21 on `toFixed` would write an exponent.
  return rate < 1e21 ? rate.toFixed(6).replace(/\.?0+$/, '') : BigInt(Math.round(rate)).toString();
}
