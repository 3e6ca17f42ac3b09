/**
 * The behaviour of a Sweep: a window of Jobs that moves over its cells, in their order.
 *
 *   cell: (no slot) ──window──▶ Active ──its Job ends──▶ Succeeded | Failed | Cancelled
 *                                 ▲ └─create refused─▶ Waiting ─┘ due
 *
 * A cell that fails stops no other: the Sweep is over when all cells are (decisions, "Kinds not detailed").
 */
import { toDecision } from '../attempts/decision.js';
import { moneyWaits } from '../children/caps.js';
import { ParentDraft, FRESH_PARENT, type ParentEnding } from '../children/draft.js';
import { checkState, takeParentMessage } from '../children/machine.js';
import { reconcileParent, type ParentRules } from '../children/reconcile.js';
import { childTableStore, type ChildTable } from '../children/slots.js';
import { isFinished } from '../job/status.js';
import type { Current, Machine, SlotRow } from '../machine.js';
import { cellSet } from './cell-jobs.js';
import type { SweepSpec, SweepStatus } from './schema.js';
import { reportSweep, type SweepPrivate } from './report.js';
import { cheaperOf, fasterOf } from './throughput.js';

export const sweepMachine: Machine<SweepSpec, SweepStatus, SweepPrivate, ChildTable, SlotRow> = {
  sideState: childTableStore,
  decide(current, table, message, context) {
    const { object: sweep } = current;
    const before = message.type === 'Updated' ? message.before.spec.state : undefined;
    const refusal = checkState('Sweep', sweep.spec.state, before);
    if (refusal !== undefined) return { outcome: 'Refused', refusal };
    const draft = openDraft(current, table, context.now);
    const { phase = 'Pending' } = sweep.status;
    if (!takeParentMessage(draft, phase, message)) return { outcome: 'Ignored' };
    const after = reconcileParent(draft, phase, rulesOf(sweep.spec));
    const best = draft.changes().reduce(fasterOf, draft.private.best);
    if (best !== undefined) draft.private = { ...draft.private, best };
    const cheapest = draft.changes().reduce(cheaperOf, draft.private.cheapest);
    if (cheapest !== undefined) draft.private = { ...draft.private, cheapest };
    return toDecision(current, draft, {
      status: reportSweep(draft, sweep, after),
      changes: draft.changes(),
      volatile: moneyWaits(draft),
    });
  },
  isTerminal: (status) => isFinished(status.phase),
};

function openDraft(
  { address, object, private: kept }: Current<SweepSpec, SweepStatus, SweepPrivate>,
  table: ChildTable,
  now: number,
): ParentDraft<SweepPrivate> {
  return new ParentDraft<SweepPrivate>(address, object, kept ?? FRESH_PARENT, cellSet(object), table, now);
}

function rulesOf({ maxParallel }: SweepSpec): ParentRules {
  return {
    window: maxParallel,
    *ready(draft) {
      while (draft.next < draft.children.total) yield draft.next;
    },
    failure: ({ counts: { slots }, children: { total } }): ParentEnding | undefined => {
      if (slots.Succeeded === total) return undefined;
      const ends = [
        ...(slots.Failed === 0
          ? []
          : [`${slots.Failed} of ${total} cells failed: GET …/cells?phase=Failed lists them`]),
        ...(slots.Cancelled === 0 ? [] : [`${slots.Cancelled} of ${total} cells were cancelled`]),
      ];
      return { phase: 'Failed', reason: 'CellsFailed', message: ends.join('; ') };
    },
    events: { Succeeded: 'sweep.succeeded', Failed: 'sweep.failed', Cancelled: 'sweep.cancelled' },
  };
}
