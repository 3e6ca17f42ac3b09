/**
 * What a TopUp makes of what its processor says (`PaymentChanged`) and of its CreditGrant. Pure.
 *
 *   Queued ──page──▶ Running ──paid──▶ Running, Paid ──its CreditGrant is there──▶ Succeeded ──refunds, disputes──▶ Succeeded
 *                       └──expired, refused──▶ Failed ──paid all the same──▶ Running, Paid
 *
 * The credits are in the commit that makes the CreditGrant (its machine), whose name is this TopUp's alone: so they come once, whichever
 * witness of the payment comes first and however often.
 */
import { setCondition } from '../../api/conditions.js';
import { equalJson } from '../../api/equal.js';
import { rfc3339 } from '../../api/time.js';
import { showUSD, sumUSD, USD } from '../../money/usd.js';
import type { CommitEffect, Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import { next } from '../plain-machine.js';
import { WALLET_ADDRESS } from '../wallet/address.js';
import { clawBack, refundedUSD } from './clawbacks.js';
import type { PaidPayment, Payment, PaymentDispute, PaymentSource } from './payment.js';
import type { TopUpStatus } from './schema.js';
import { grantName, isOver, wantGrant, type Decided, type Here, type TopUpPrivate } from './state.js';

export const LOOK = 'look';
/** A page that was to be over is looked at again after so long (ms); a bank takes days. */
const AGAIN_MS = 60_000;
const BANK_AGAIN_MS = 30 * 60_000;
/** From the end of a page to the look at what became of it (ms). */
export const AFTER_END_MS = 5_000;

export function lookAt(at: number): CommitEffect {
  return { type: 'ArmTimer', timer: LOOK, at };
}

export function settle(here: Here, kept: TopUpPrivate, source: PaymentSource, payment: Payment, now: number): Decided {
  const { status } = here.object;
  // What a page says whose place another has taken: only that it was paid is of interest.
  if (payment.state !== 'Paid' && kept.source !== undefined && kept.source.id !== source.id)
    return { outcome: 'Ignored' };
  if (payment.state !== 'Paid' && (isOver(status) || kept.paid !== undefined)) return { outcome: 'Ignored' };
  switch (payment.state) {
    case 'Open': {
      const again = lookAt(Math.max(kept.expires + AFTER_END_MS, now + AGAIN_MS));
      return next<TopUpStatus, TopUpPrivate>(status, { effects: [again] });
    }
    case 'Pending':
      return next<TopUpStatus, TopUpPrivate>(
        {
          ...status,
          reason: 'PaymentPending',
          checkoutURL: payment.page,
          conditions: withPaid(status, 'False', 'PaymentPending', 'the bank has not settled the payment yet', now),
        },
        { effects: [lookAt(now + BANK_AGAIN_MS)] },
      );
    case 'Expired':
      return fail(here, 'Expired', 'nobody has paid before the page expired', now);
    case 'Failed':
      return fail(here, 'PaymentFailed', payment.message, now);
    case 'Mismatch':
      return fail(here, 'PaymentFailed', `${payment.message}; nothing is credited, ask the operator`, now);
    case 'Paid':
      return paid(here, { ...kept, source }, payment, now);
  }
}

export function fail(
  { object: { status } }: Here,
  reason: 'Expired' | 'PaymentFailed',
  message: string,
  now: number,
): Decided {
  return next<TopUpStatus, TopUpPrivate>(
    {
      ...status,
      ...{ phase: 'Failed', reason, checkoutURL: undefined },
      conditions: withPaid(status, 'False', reason, message, now),
    },
    { effects: [{ type: 'CancelTimer', timer: LOOK }, emit('topup.failed', message)] },
  );
}

function paid(here: Here, kept: TopUpPrivate, payment: PaidPayment, now: number): Decided {
  const { metadata, spec, status } = here.object;
  if (kept.paid !== undefined && kept.source?.id === here.private?.source?.id && equalJson(kept.paid, payment))
    return { outcome: 'Ignored' };
  const known = { ...kept, paid: payment };
  const shown = withPayment(status, payment, now);
  // Refunds and disputes of what is not credited yet are looked at when it is.
  if (kept.grant !== undefined) return withClaims(here, known, shown, [], now);
  if (kept.paid !== undefined) return next<TopUpStatus, TopUpPrivate>(shown, { private: known });
  const name = grantName(metadata.uid);
  const grant = { amountUSD: spec.amountUSD, source: 'TopUp', note: `TopUp ${metadata.name}` } as const;
  const effects: Effect[] = [{ type: 'CancelTimer', timer: LOOK }, wantGrant(name, grant)];
  const { card } = payment;
  if (card !== undefined && spec.savePaymentMethod === true)
    effects.push({
      type: 'Tell',
      to: { org: here.address.org, ...WALLET_ADDRESS },
      message: { type: 'CardSaved', card },
    });
  return next<TopUpStatus, TopUpPrivate>(
    { ...shown, phase: 'Running', reason: undefined, checkoutURL: undefined },
    { private: { ...known, awaited: { ...kept.awaited, [name]: grant } }, effects },
  );
}

/** Its CreditGrant `name` is there: the wallet has the credits. */
export function credited(here: Here, kept: TopUpPrivate, name: string, grant: string, now: number): Decided {
  if (kept.awaited[name] === undefined) return { outcome: 'Ignored' };
  const { [name]: _, ...awaited } = kept.awaited;
  const { metadata, spec, status } = here.object;
  if (name !== grantName(metadata.uid))
    return next<TopUpStatus, TopUpPrivate>(status, { private: { ...kept, awaited } });
  const done: TopUpStatus = {
    ...status,
    ...{ phase: 'Succeeded', reason: undefined, creditedUSD: spec.amountUSD, transaction: `credit/${grant}` },
    conditions: [
      ...setCondition(
        status.conditions,
        { type: 'Credited', status: 'True', reason: 'Credited', message: 'the wallet has the credits' },
        now,
      ),
    ],
  };
  return withClaims(
    here,
    { ...kept, grant, awaited },
    done,
    [emit('topup.succeeded', `${spec.amountUSD} USD were paid and credited`)],
    now,
  );
}

/** With what refunds and disputes have changed since. */
function withClaims(
  here: Here,
  kept: TopUpPrivate,
  status: TopUpStatus,
  effects: readonly Effect[],
  now: number,
): Decided {
  const { metadata, spec } = here.object;
  const { paid: payment, grant } = kept;
  if (payment === undefined || grant === undefined)
    return next<TopUpStatus, TopUpPrivate>(status, { private: kept, effects });
  const { org } = here.address;
  const purchased = { org, grant, uid: metadata.uid, name: metadata.name, amountUSD: spec.amountUSD };
  const { effects: claims, ...after } = clawBack(purchased, payment, kept);
  const refunded = new USD(refundedUSD(payment, after.taken));
  const disputed = withDisputes(status, payment, now);
  const shown =
    refunded.isZero() && status.refundedUSD === undefined ? disputed : { ...disputed, refundedUSD: showUSD(refunded) };
  return next<TopUpStatus, TopUpPrivate>(shown, { private: { ...kept, ...after }, effects: [...effects, ...claims] });
}

/** What banks have decided, or have to: a dispute that is lost takes credits and is no refund. */
function withDisputes(status: TopUpStatus, { disputes }: PaidPayment, now: number): TopUpStatus {
  const sum = (state: PaymentDispute['state']): string =>
    showUSD(sumUSD(disputes.filter((one) => one.state === state).map(({ amountUSD }) => new USD(amountUSD))));
  if (disputes.length === 0) return status;
  const has = (state: PaymentDispute['state']): boolean => disputes.some((one) => one.state === state);
  const condition = has('Open')
    ? { status: 'True' as const, reason: 'Open', message: `${sum('Open')} USD are disputed` }
    : has('Lost')
      ? {
          status: 'False' as const,
          reason: 'Lost',
          message: `${sum('Lost')} USD were lost in disputes, and taken back`,
        }
      : { status: 'False' as const, reason: 'Won', message: 'the bank has decided for the shop' };
  return { ...status, conditions: [...setCondition(status.conditions, { type: 'Disputed', ...condition }, now)] };
}

function withPayment(status: TopUpStatus, payment: PaidPayment, now: number): TopUpStatus {
  const { payment: paymentIntent, time, method, receiptURL, invoiceURL } = payment;
  const conditions = withPaid(status, 'True', 'Paid', 'the processor has confirmed the payment', now);
  return {
    ...status,
    conditions:
      status.conditions?.some(({ type }) => type === 'Credited') === true
        ? conditions
        : [
            ...setCondition(
              conditions,
              { type: 'Credited', status: 'False', reason: 'Crediting', message: 'the credits are on their way' },
              now,
            ),
          ],
    ...{ paidTime: rfc3339(time), paymentIntent },
    ...(method !== undefined && { paymentMethod: method }),
    ...(receiptURL !== undefined && { receiptURL }),
    ...(invoiceURL !== undefined && { invoicePDFURL: invoiceURL }),
  };
}

function withPaid(
  { conditions }: TopUpStatus,
  status: 'True' | 'False',
  reason: string,
  message: string,
  now: number,
): NonNullable<TopUpStatus['conditions']> {
  return [...setCondition(conditions, { type: 'Paid', status, reason, message }, now)];
}
