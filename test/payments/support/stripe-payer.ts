/** The payer's side of the local Stripe server, and what banks do. Each function is one thing that happens, with the events that Stripe sends for it. */
import { need, type Account, type Charge, type Intent, type Method, type Session } from './stripe-account.js';

export interface Payer {
  /** At an open page. */
  pay(session: string, way: 'card' | 'bank'): void;
  /** A card is declined; the page stays open. */
  declines(session: string): void;
  bankSettles(session: string): void;
  bankFails(session: string): void;
  expire(session: string): void;
  /** The whole payment, or `amount` cents of it. Answers the dispute's id. */
  dispute(intent: string, status?: string, amount?: number): string;
  setDispute(dispute: string, status: string): void;
  refundFails(refund: string): void;
  refundByHand(intent: string, amount: number): string;
  /** The holder of a card confirms a payment that waits for it. */
  confirms(intent: string): void;
}

const BANK = { type: 'us_bank_account', us_bank_account: { bank_name: 'STRIPE TEST BANK', last4: '6789' } };
const CARD = { type: 'card', card: { brand: 'visa', last4: '4242' } };

export function openPayer(account: Account): Payer {
  const { sessions, intents, refunds, disputes, charges, emit } = account;

  function openSession(id: string): Session {
    const session = need(sessions, id);
    if (session.status !== 'open') throw new Error(`the page ${id} is ${session.status}`);
    return session;
  }

  /** The payment of a page, which is made at the first try to pay. */
  function intentOf(session: Session): Intent {
    if (session.payment_intent !== null) return need(intents, session.payment_intent);
    const asked = need(account.asked, session.id);
    const intent = newIntent(account, session.amount_total ?? 0, asked.metadata);
    if (asked.save) intent.setup_future_usage = 'off_session';
    session.payment_intent = intent.id;
    return intent;
  }

  return {
    pay(id, way) {
      const session = openSession(id);
      const intent = intentOf(session);
      const { save } = need(account.asked, id);
      const customer = account.id('cus');
      account.customers.set(customer, { id: customer, object: 'customer' });
      session.customer = intent.customer = customer;
      const method = newMethod(account, save ? customer : null, way === 'card' ? CARD : BANK);
      intent.payment_method = method.id;
      session.status = 'complete';
      session.url = null;
      if (way === 'card') {
        succeed(account, intent);
        session.payment_status = 'paid';
        invoice(account, session);
      } else {
        intent.status = 'processing';
        intent.latest_charge = newCharge(account, intent).id;
      }
      emit('checkout.session.completed', session);
    },
    declines(id) {
      const intent = intentOf(openSession(id));
      decline(account, intent);
    },
    bankSettles(id) {
      const session = need(sessions, id);
      succeed(account, intentOf(session));
      session.payment_status = 'paid';
      invoice(account, session);
      emit('checkout.session.async_payment_succeeded', session);
    },
    bankFails(id) {
      const session = need(sessions, id);
      const intent = intentOf(session);
      intent.status = 'requires_payment_method';
      intent.last_payment_error = { type: 'invalid_request_error', code: 'payment_failed', message: 'R01' };
      emit('payment_intent.payment_failed', intent);
      emit('checkout.session.async_payment_failed', session);
    },
    expire(id) {
      const session = openSession(id);
      session.status = 'expired';
      session.url = null;
      emit('checkout.session.expired', session);
    },
    dispute(id, status = 'needs_response', amount) {
      const intent = need(intents, id);
      const charge = need(charges, intent.latest_charge);
      charge.disputed = true;
      const dispute = {
        balance_transactions: [],
        ...{ id: account.id('du'), object: 'dispute' as const, created: account.now() },
        ...{
          amount: amount ?? charge.amount,
          currency: charge.currency,
          payment_intent: id,
          charge: charge.id,
          metadata: {},
          status,
        },
      };
      disputes.set(dispute.id, dispute);
      emit('charge.dispute.created', dispute);
      return dispute.id;
    },
    setDispute(id, status) {
      const dispute = need(disputes, id);
      dispute.status = status;
      const isOver = ['won', 'lost', 'warning_closed'].includes(status);
      emit(isOver ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute);
    },
    refundFails(id) {
      const refund = need(refunds, id);
      refund.status = 'failed';
      need(charges, refund.charge).amount_refunded -= refund.amount;
      emit('refund.failed', refund);
    },
    refundByHand(id, amount) {
      return newRefund(account, need(intents, id), amount, {}).id;
    },
    confirms(id) {
      succeed(account, need(intents, id));
    },
  };
}

export function newIntent(account: Account, amount: number, metadata: Record<string, string>): Intent {
  const intent: Intent = {
    ...{ id: account.id('pi'), object: 'payment_intent', created: account.now(), livemode: account.livemode },
    ...{ amount, amount_received: 0, currency: 'usd', status: 'requires_payment_method', metadata },
    ...{
      customer: null,
      payment_method: null,
      setup_future_usage: null,
      latest_charge: null,
      last_payment_error: null,
    },
  };
  account.intents.set(intent.id, intent);
  return intent;
}

export function newMethod(account: Account, customer: string | null, details: Method['details']): Method {
  const method: Method = { id: account.id('pm'), customer, details, away: 'Pays' };
  account.methods.set(method.id, method);
  return method;
}

/** A charge has the metadata that its payment has when it is made. */
function newCharge(account: Account, intent: Intent): Charge {
  const id = account.id('ch');
  const charge: Charge = {
    ...{ id, object: 'charge', created: account.now(), amount: intent.amount, amount_refunded: 0, disputed: false },
    ...{ currency: intent.currency, payment_intent: intent.id, metadata: { ...intent.metadata } },
    payment_method_details: need(account.methods, intent.payment_method).details,
    receipt_url: `https://pay.stripe.example.com/receipts/${id}`,
  };
  account.charges.set(id, charge);
  return charge;
}

export function succeed(account: Account, intent: Intent): void {
  intent.status = 'succeeded';
  intent.amount_received = intent.amount;
  intent.last_payment_error = null;
  intent.latest_charge ??= newCharge(account, intent).id;
  account.emit('payment_intent.succeeded', intent);
}

export function decline(account: Account, intent: Intent): void {
  intent.status = 'requires_payment_method';
  intent.last_payment_error = { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' };
  account.emit('payment_intent.payment_failed', intent);
}

function invoice(account: Account, session: Session): void {
  const id = account.id('in');
  const metadata = need(account.asked, session.id).metadata;
  const made = { id, object: 'invoice', metadata, hosted_invoice_url: `https://invoice.stripe.example.com/${id}` };
  account.invoices.set(id, made);
  session.invoice = id;
  account.emit('invoice.paid', made);
}

/** Cards are paid back at once, banks later. */
export function newRefund(
  account: Account,
  intent: Intent,
  amount: number,
  metadata: Record<string, string>,
): { readonly id: string } {
  const charge = need(account.charges, intent.latest_charge);
  const refund = {
    ...{ id: account.id('re'), object: 'refund' as const, created: account.now(), amount, currency: charge.currency },
    ...{ payment_intent: intent.id, charge: charge.id, metadata },
    status: charge.payment_method_details['type'] === 'card' ? 'succeeded' : 'pending',
  };
  account.refunds.set(refund.id, refund);
  charge.amount_refunded += amount;
  account.emit('refund.created', refund);
  account.emit('charge.refunded', charge);
  return refund;
}
