/**
 * The life of a Budget: its limit stands in the ledger from the commit that makes or changes it to the one that removes it, and its
 * status shows what the ledger tells. Only the ledger refuses: a status that is late admits nothing and stops nothing (I7).
 *
 *   Created, Updated ─ SetBudget        SpendChanged, period's end ─ status
 *   removed ─ DropBudget (`atRemoval`)   ThresholdReached, HoldsRefused ─ events        NoticeMailed ─ condition
 */
import { equalJson } from '../../api/equal.js';
import { parseTime } from '../../api/time.js';
import { USD } from '../../money/usd.js';
import type { CommitEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { Current, DecisionContext, Machine, Message } from '../machine.js';
import type { ObjectMessage } from '../object-message.js';
import { IGNORED, next, plain, type PlainDecision } from '../plain-machine.js';
import { limitOf } from './limit.js';
import { withMark } from './runway.js';
import type { BudgetSpec, BudgetStatus } from './schema.js';
import {
  currentPeriod,
  NO_STATE,
  withFigures,
  withKnownRefusal,
  withNotice,
  withoutFreed,
  type BudgetPrivate,
} from './state.js';
import { budgetStatusOf, remainingUSD, withMailed } from './status.js';

type Here = Current<BudgetSpec, BudgetStatus, BudgetPrivate>;
type Decided = PlainDecision<BudgetStatus, BudgetPrivate>;
type When = Pick<DecisionContext, 'now' | 'mails'>;
type Content<Type extends ObjectMessage['type']> = Extract<ObjectMessage, { type: Type }>;

const PERIOD_ENDS = 'period-ends';
const REFUSAL_KNOWN = 'refusal-known';
/** Least time between two events that tell of refusals, ms. */
const EXCEEDED_EVERY_MS = 60_000;
/** Figures of the ledger are shown after so long at most, ms. */
const FIGURES_LATE_MS = 15_000;

/** The status of now, with this state. */
function shown(here: Here, known: BudgetPrivate, { now, mails }: When, effects: readonly CommitEffect[] = []): Decided {
  const { spec } = here.object;
  const state = withoutFreed(known, remainingUSD(spec, known, createdAt(here), now));
  const status = budgetStatusOf(spec, here.object.status, state, { created: createdAt(here), now, mails });
  return next<BudgetStatus, BudgetPrivate>(status, { private: state, effects });
}

function createdAt({ object }: Here): number {
  return parseTime(object.metadata.creationTimestamp) ?? 0;
}

function setBudget({ object }: Here): CommitEffect {
  return { type: 'Money', operation: { op: 'SetBudget', budget: limitOf(object.metadata, object.spec) } };
}

function armEnd(here: Here, now: number): readonly CommitEffect[] {
  const { end } = currentPeriod(here.object.spec, createdAt(here), now);
  return end === undefined ? [] : [{ type: 'ArmTimer', timer: PERIOD_ENDS, at: end }];
}

function update(here: Here, { before }: Extract<Message, { type: 'Updated' }>, when: When): Decided {
  const changed = !equalJson(before.spec, here.object.spec);
  // A raised limit frees money as a release does.
  return shown(here, here.private ?? NO_STATE, when, changed ? [setBudget(here)] : []);
}

function notice(here: Here, { period, threshold }: Content<'ThresholdReached'>, context: When): Decided {
  const state = withNotice(here.private ?? NO_STATE, period, threshold);
  if (state === undefined) return IGNORED;
  const when = period === 'total' ? '' : ` in ${period}`;
  // The limit that was reached may be another than that of now.
  return shown(here, state, context, [emit('budget.threshold', `${threshold}% of the limit were spent${when}`)]);
}

/** The first refusal is told at once; those of the next minute together, with what is refused behind it. */
function refuse(here: Here, { count, last, ago }: Content<'HoldsRefused'>, context: When): Decided {
  const { now } = context;
  const before = here.private ?? NO_STATE;
  // Of a moment ago the figures may not be known here yet: what is left by those of before is more than there was.
  const left = remainingUSD(here.object.spec, before, createdAt(here), now);
  const shownUSD = USD.max(left, last.availableUSD).toFixed();
  const isLate = ago < FIGURES_LATE_MS && shownUSD !== last.availableUSD;
  const { time = -Infinity, since = 0 } = before.exceeded ?? {};
  const refusals = since + count;
  const told = now - time < EXCEEDED_EVERY_MS;
  const state = {
    ...{ ...before, refusedAtUSD: isLate ? shownUSD : last.availableUSD },
    refusedByLedgerAtUSD: isLate ? last.availableUSD : undefined,
    exceeded: told ? { time, since: refusals } : { time: now, since: 0 },
  };
  const { availableUSD, limitUSD, neededUSD } = last;
  const holds = refusals === 1 ? 'a hold was refused' : `${refusals} holds were refused, the last one`;
  const message = `${holds} when ${availableUSD} of ${limitUSD} USD were left and it needed ${neededUSD} USD`;
  const look: CommitEffect = { type: 'ArmTimer', timer: REFUSAL_KNOWN, at: now - ago + FIGURES_LATE_MS };
  return shown(here, state, context, [...(isLate ? [look] : []), ...(told ? [] : [emit('budget.exceeded', message)])]);
}

function receive(here: Here, content: ObjectMessage, context: When): Decided {
  switch (content.type) {
    case 'SpendChanged': {
      const { period, spentUSD, heldUSD, refusing, revision } = content;
      const state = withFigures(here.private ?? NO_STATE, { period, spentUSD, heldUSD, refusing, revision });
      if (state === undefined) return IGNORED;
      const marks = withMark(state.marks ?? [], { period, time: context.now, spentUSD });
      return shown(here, { ...state, marks }, context);
    }
    case 'ThresholdReached':
      return notice(here, content, context);
    case 'NoticeMailed':
      return next<BudgetStatus, BudgetPrivate>(withMailed(here.object.status, content, context.now));
    case 'HoldsRefused':
      return refuse(here, content, context);
    default:
      return IGNORED;
  }
}

export const budgetMachine: Machine<BudgetSpec, BudgetStatus, BudgetPrivate, undefined, never> = {
  decide(here, _side, message, context: DecisionContext) {
    const { now } = context;
    switch (message.type) {
      case 'Created':
        return shown(here, NO_STATE, context, [setBudget(here), ...armEnd(here, now)]);
      case 'Updated':
        return update(here, message, context);
      case 'TimerFired':
        return message.timer === PERIOD_ENDS
          ? shown(here, here.private ?? NO_STATE, context, armEnd(here, now))
          : shown(here, withKnownRefusal(here.private ?? NO_STATE), context);
      case 'MessageReceived':
        return receive(here, message.content, context);
      default:
        return plain(here, message);
    }
  },
};

/** Its counters stay while holds name them. */
export function dropBudget(uid: string): CommitEffect {
  return { type: 'Money', operation: { op: 'DropBudget', uid } };
}
