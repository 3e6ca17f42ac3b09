/**
 * What Stripe's objects say of a payment. Pure. Their words are open sets: one that is not known is never taken for paid or for over, but
 * answered as Unknown, and the payment is looked at again.
 */
import type { Stripe } from 'stripe';
import type { PaidPayment, Payment, PaymentDispute, PaymentRefund, SavedCard } from '../../../kinds/topup/payment.js';
import { sentence } from './failure.js';
import { CURRENCY, KEY, usdOf } from './purchase.js';

export type Standing =
  | { readonly type: 'Paid'; readonly intent: Stripe.PaymentIntent; readonly invoiceURL?: string | undefined }
  | { readonly type: 'Unpaid'; readonly payment: Exclude<Payment, PaidPayment> }
  | { readonly type: 'Unknown'; readonly said: string };

/** Of a page, with `payment_intent` and `invoice` expanded. `cents`: what was asked for. */
export function standingOfSession(session: Stripe.Checkout.Session, cents: number): Standing {
  const { status, payment_status: paid } = session;
  const intent = expanded(session.payment_intent);
  if (paid === 'no_payment_required') return mismatch('nothing had to be paid at the page', cents);
  if (paid === 'paid' || intent?.status === 'succeeded') {
    if (intent === undefined) return mismatch('the page was paid without a payment', cents);
    // The page is ahead of its payment.
    if (intent.status !== 'succeeded') return unpaid({ state: 'Pending' });
    const { amount_total: total, currency } = session;
    if (total !== cents || currency !== CURRENCY) return mismatch(`the page was over ${said(total, currency)}`, cents);
    return paidBy(intent, cents, invoiceURLOf(session));
  }
  switch (status) {
    case 'open':
      return unpaid({ state: 'Open' });
    case 'expired':
      return unpaid({ state: intent?.status === 'processing' ? 'Pending' : 'Expired' });
    case 'complete':
      return intent?.status === 'requires_payment_method' || intent?.status === 'canceled'
        ? failed(intent)
        : unpaid({ state: 'Pending' });
    default:
      return { type: 'Unknown', said: String(status) };
  }
}

/** Of a charge of a saved card. */
export function standingOfIntent(intent: Stripe.PaymentIntent, cents: number): Standing {
  switch (intent.status) {
    case 'succeeded':
      return paidBy(intent, cents);
    case 'processing':
    case 'requires_action':
    case 'requires_confirmation':
      return unpaid({ state: 'Pending' });
    case 'requires_payment_method':
    case 'canceled':
      return failed(intent);
    default:
      return { type: 'Unknown', said: String(intent.status) };
  }
}

function paidBy(intent: Stripe.PaymentIntent, cents: number, invoiceURL?: string): Standing {
  const { amount_received: received, currency } = intent;
  if (received !== cents || currency !== CURRENCY) return mismatch(`${said(received, currency)} was paid`, cents);
  return { type: 'Paid', intent, invoiceURL };
}

/** The whole answer of a payment that is paid. */
export function paidPayment(
  { intent, invoiceURL }: Extract<Standing, { readonly type: 'Paid' }>,
  refunds: readonly Stripe.Refund[],
  disputes: readonly Stripe.Dispute[],
): PaidPayment {
  const charge = expanded(intent.latest_charge);
  return {
    state: 'Paid',
    payment: intent.id,
    amountUSD: usdOf(intent.amount_received),
    time: (charge?.created ?? intent.created) * 1_000,
    method: methodOf(charge),
    card: cardOf(intent, charge),
    receiptURL: webAddress(charge?.receipt_url),
    invoiceURL,
    refunds: refunds.map((refund) => refundOf(refund)),
    disputes: disputes.map((dispute) => disputeOf(dispute, intent.amount_received)),
  };
}

function refundOf({ id, amount, status, metadata }: Stripe.Refund): PaymentRefund {
  const key = metadata?.[KEY];
  return { id, amountUSD: usdOf(amount), state: stateOfRefund(status), ...(key !== undefined && { key }) };
}

function stateOfRefund(status: string | null): PaymentRefund['state'] {
  switch (status) {
    case 'succeeded':
      return 'Succeeded';
    case 'failed':
    case 'canceled':
      return 'Failed';
    default:
      // pending, requires_action, and what may come: it counts as paid back until Stripe says that it is not.
      return 'Pending';
  }
}

/** One in another currency is taken for the whole payment, the most that it can be. */
function disputeOf(dispute: Stripe.Dispute, received: number): PaymentDispute {
  const { id, amount, currency, status } = dispute;
  const amountUSD = usdOf(currency === CURRENCY ? amount : received);
  switch (status) {
    case 'won':
    case 'warning_closed':
      return { id, amountUSD, state: 'Won' };
    // Settled before it became a dispute: blocked, paid back by a refund, or paid back by itself.
    case 'prevented':
      return { id, amountUSD, state: hasTakenMoney(dispute) ? 'Lost' : 'Won' };
    case 'lost':
    // The money stays away until the appeal is won.
    case 'appeal_needs_response':
    case 'appeal_under_review':
      return { id, amountUSD, state: 'Lost' };
    default:
      return { id, amountUSD, state: 'Open' };
  }
}

/** Whether more was withdrawn than reinstated. */
function hasTakenMoney({ balance_transactions: moves }: Stripe.Dispute): boolean {
  return Array.isArray(moves) && moves.reduce((sum, move) => sum + move.amount, 0) < 0;
}

function methodOf(charge: Stripe.Charge | undefined): PaidPayment['method'] {
  const details = charge?.payment_method_details ?? undefined;
  const card = details?.card ?? undefined;
  const bank = details?.us_bank_account ?? undefined;
  const last4 = card?.last4 ?? bank?.last4 ?? undefined;
  return last4 === undefined ? undefined : { brand: card?.brand ?? bank?.bank_name ?? 'unknown', last4 };
}

function cardOf(intent: Stripe.PaymentIntent, charge: Stripe.Charge | undefined): SavedCard | undefined {
  const customer = idOf(intent.customer);
  const method = idOf(intent.payment_method);
  const shown = methodOf(charge);
  const isCard = charge?.payment_method_details?.type === 'card';
  const isSaved = intent.setup_future_usage === 'off_session';
  if (!isSaved || !isCard || shown === undefined || customer === undefined || method === undefined) return undefined;
  return { processor: 'Stripe', customer, method, ...shown };
}

function failed({ last_payment_error: error }: Stripe.PaymentIntent): Standing {
  const isForPayers = error?.type === 'card_error' && error.message !== undefined;
  return unpaid({ state: 'Failed', message: isForPayers ? sentence(error.message ?? '') : 'The payment failed.' });
}

function unpaid(payment: Exclude<Payment, PaidPayment>): Standing {
  return { type: 'Unpaid', payment };
}

function mismatch(what: string, cents: number): Standing {
  return unpaid({ state: 'Mismatch', message: `${what}; asked for was ${usdOf(cents)} USD` });
}

function said(cents: number | null, currency: string | null): string {
  return `${usdOf(cents ?? 0)} ${String(currency).toUpperCase().slice(0, 10)}`;
}

function invoiceURLOf({ invoice }: Stripe.Checkout.Session): string | undefined {
  const whole = expanded(invoice);
  return webAddress(whole?.hosted_invoice_url) ?? webAddress(whole?.invoice_pdf);
}

function webAddress(text: string | null | undefined): string | undefined {
  return typeof text === 'string' && text.startsWith('https://') ? text : undefined;
}

/** What was asked to be expanded; undefined: there is none. */
export function expanded<T extends object>(value: T | string | null | undefined): T | undefined {
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** The id of an object, expanded or not. */
export function idOf(value: { readonly id: string } | string | null | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.id;
}
