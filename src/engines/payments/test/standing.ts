/** How a purchase at the embedded test processor stands, from its row and the time. Pure. */
import type { Payment, SavedCard } from '../../../kinds/topup/payment.js';
import type { TestCheckout } from './desk.js';
import type { TestPurchase } from '../../../kinds/topup/test-purchase.js';

export const BANK_REFUSED = 'the bank refused the payment (a test: no money moves)';
const TEST_CARD = { brand: 'test', last4: '4242' };

/** The card that a page has saved is named after that payment, so a charge of it can be checked. */
export function savedCard(row: TestPurchase): SavedCard {
  return { processor: 'Test', customer: `test_customer_${row.org}`, method: `test_card_${row.payment}`, ...TEST_CARD };
}

/** The payment at which this card was saved. */
export function paymentOfCard({ method }: SavedCard): string | undefined {
  return method.startsWith('test_card_') ? method.slice('test_card_'.length) : undefined;
}

/** Whether its time is over, noted or not. */
export function hasExpired(row: TestPurchase, now: number): boolean {
  return row.state === 'Expired' || (row.state === 'Open' && row.expires !== undefined && row.expires <= now);
}

/** `base`: origin of this service. */
export function paymentOf(row: TestPurchase, base: string, now: number): Payment {
  if (hasExpired(row, now)) return { state: 'Expired' };
  switch (row.state) {
    case 'Paid':
      return {
        state: 'Paid',
        payment: row.payment,
        amountUSD: row.amountUSD,
        time: row.paid ?? row.created,
        method: row.method === 'Card' ? TEST_CARD : undefined,
        card: row.cardSaved ? savedCard(row) : undefined,
        receiptURL: `${base}/checkout/${row.id}/receipt`,
        invoiceURL: `${base}/checkout/${row.id}/invoice`,
        refunds: row.refunds.map(({ id, key, amountUSD }) => ({ id, amountUSD, state: 'Succeeded', key })),
        disputes:
          row.dispute === undefined
            ? []
            : [{ id: `test_dispute_${row.payment}`, amountUSD: row.disputeUSD ?? row.amountUSD, state: row.dispute }],
      };
    case 'Failed':
      return { state: 'Failed', message: BANK_REFUSED };
    case 'Pending':
      // What the bank does is said there.
      return { state: 'Pending', page: `${base}/checkout/${row.id}` };
    case 'Open':
    case 'Expired':
      return { state: 'Open' };
  }
}

export function checkoutOf(row: TestPurchase, base: string, now: number): TestCheckout {
  const { id, org, name, uid, amountUSD, created, expires, saveCard, doneURL, cancelURL, invoice, refunds } = row;
  return {
    ...{
      id,
      purchase: { org, name, uid },
      amountUSD,
      created,
      expires: expires ?? created,
      saveCard,
      doneURL,
      cancelURL,
    },
    payment: paymentOf(row, base, now),
    invoice,
    creditNotes: refunds.map((refund) => ({ id: refund.id, amountUSD: refund.amountUSD, time: refund.time })),
  };
}
