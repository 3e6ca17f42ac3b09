/** The status of a Budget, computed from its spec and the ledger's figures. Pure. */
import { setCondition } from '../../api/conditions.js';
import type { Condition } from '../../api/object.js';
import { rfc3339 } from '../../api/time.js';
import { showUSD, USD, ZERO } from '../../money/usd.js';
import type { ObjectMessage } from '../object-message.js';
import { runwayOf, withRunway } from './runway.js';
import type { BudgetSpec, BudgetStatus } from './schema.js';
import { currentPeriod, figuresOf, noticesOf, type BudgetPrivate } from './state.js';

/** Most that the field holds. */
const MOST_PERCENT = 2 ** 31 - 1;

/** Of the period in which `now` (ms) lies. Limit minus spent minus held, never below 0. */
export function remainingUSD(spec: BudgetSpec, state: BudgetPrivate, created: number, now: number): USD {
  const figures = figuresOf(state, currentPeriod(spec, created, now).period);
  const left = new USD(spec.limitUSD).minus(figures?.spentUSD ?? 0).minus(figures?.heldUSD ?? 0);
  return USD.max(ZERO, left);
}

export interface StatusContext {
  /** Times in ms. */
  readonly created: number;
  readonly now: number;
  /** Notices are mailed. */
  readonly mails?: boolean | undefined;
}

export function budgetStatusOf(
  spec: BudgetSpec,
  before: BudgetStatus,
  state: BudgetPrivate,
  { created, now, mails = false }: StatusContext,
): BudgetStatus {
  const { period, start, end } = currentPeriod(spec, created, now);
  const figures = figuresOf(state, period);
  const spent = new USD(figures?.spentUSD ?? 0);
  const remaining = remainingUSD(spec, state, created, now);
  const refusing = spec.action === 'Block' && (figures?.refusing === true || isRefusing(state, remaining));
  const exceeded = remaining.isZero() || refusing;
  const condition = exceeded
    ? { status: 'True' as const, reason: 'LimitReached', message: remaining.isZero() ? NOTHING_LEFT : TOO_LITTLE }
    : { status: 'False' as const, reason: 'WithinLimit', message: spec.action === 'Block' ? SOME_LEFT : NEVER_REFUSES };
  const conditions = setCondition(before.conditions, { type: 'Exceeded', ...condition }, now);
  const status: BudgetStatus = {
    conditions: [...unmailed(conditions, spec, mails, now)],
    currentPeriod: { startTime: rfc3339(start), ...(end !== undefined && { endTime: rfc3339(end) }) },
    heldUSD: showUSD(new USD(figures?.heldUSD ?? 0)),
    notifiedThresholds: [...noticesOf(state, period)],
    percentUsed: percentOf(spent, spec.limitUSD),
    remainingUSD: showUSD(remaining),
    spentUSD: showUSD(spent),
  };
  return withRunway(
    status,
    runwayOf(remaining, spent, {
      ...{ start: Math.max(start, created), now },
      marks: state.marks?.filter((mark) => mark.period === period),
    }),
    before,
  );
}

const MAILED = 'NoticesMailed';
const NOT_CONFIGURED = 'MailNotConfigured';

/** A Budget that names recipients says that nobody mails them, where that is so. */
function unmailed(
  conditions: readonly Condition[],
  spec: BudgetSpec,
  mails: boolean,
  now: number,
): readonly Condition[] {
  if (!mails && (spec.notify?.emails ?? []).length > 0)
    return setCondition(
      conditions,
      {
        ...{ type: MAILED, status: 'False', reason: NOT_CONFIGURED },
        message:
          'this service sends no mail, so notices are events only; its operator can name a mail server (TROUPE_SMTP_URL)',
      },
      now,
    );
  return conditions.filter(({ type, reason }) => type !== MAILED || reason !== NOT_CONFIGURED);
}

/** With what became of the mails about one threshold. */
export function withMailed(
  status: BudgetStatus,
  { period, threshold, sent, failed, error }: Extract<ObjectMessage, { type: 'NoticeMailed' }>,
  now: number,
): BudgetStatus {
  const all = sent + failed;
  const about = `of the notice that ${threshold}% are spent${period === 'total' ? '' : ` in ${period}`}`;
  const mailed =
    failed === 0
      ? { status: 'True' as const, reason: 'Mailed', message: `${all} of ${all} mails ${about} were sent` }
      : {
          ...{ status: 'False' as const, reason: 'MailFailed' },
          message: `${failed} of ${all} mails ${about} could not be delivered: ${error ?? 'the reason is not known'}`,
        };
  return { ...status, conditions: [...setCondition(status.conditions, { type: MAILED, ...mailed }, now)] };
}

const NOTHING_LEFT = 'nothing is left for a new hold';
// Whether that is enough depends on the work, so no promise is made.
const SOME_LEFT = 'there is room for a hold of at most status.remainingUSD';
const NEVER_REFUSES = 'this Budget notifies, and refuses no hold';
const TOO_LITTLE = 'what is left was too little for a hold, and nothing was freed since';

function isRefusing({ refusedAtUSD }: BudgetPrivate, remaining: USD): boolean {
  return refusedAtUSD !== undefined && remaining.lte(refusedAtUSD);
}

/** Whole percent, cut. */
function percentOf(spent: USD, limit: string): number {
  return Math.min(USD.max(ZERO, spent).times(100).wholeTimes(limit), MOST_PERCENT);
}
