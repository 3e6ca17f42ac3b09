/**
 * Receipt and invoice of a payment at the embedded test processor, made to be printed. An issued invoice never changes: what is paid back
 * later stands below it as credit notes, each with its own number and date.
 */
import type { PaidCheckout } from '../../src/engines/payments/test/desk.js';
import { showUSD, sumUSD, USD } from '../../src/money/usd.js';
import { TEST_NOTICE } from './checkout-page.js';
import { html, type Html } from './html.js';
import { dayOf, momentOf, usd, type Page } from './page.js';

/** `TEST-000042`. */
export function invoiceNumber({ invoice }: PaidCheckout): string {
  return `TEST-${String(invoice).padStart(6, '0')}`;
}

export function invoicePage(checkout: PaidCheckout): Page {
  const { purchase, payment, creditNotes } = checkout;
  const number = invoiceNumber(checkout);
  return {
    title: `Invoice ${number}`,
    isPaper: true,
    body: html`<p class="test">
        <strong>This is a test.</strong> No money moved, and a tax office does not accept this document.
      </p>
      <h1>Invoice ${number}</h1>
      <dl>
        <dt>Invoice number</dt>
        <dd>${number}</dd>
        <dt>Date</dt>
        <dd>${dayOf(payment.time)}</dd>
        <dt>Seller</dt>
        <dd>this deployment (test)</dd>
        <dt>Buyer</dt>
        <dd>Organization ${purchase.org}</dd>
        <dt>Payment</dt>
        <dd>${payment.payment}</dd>
      </dl>
      <table>
        ${headOf('What was sold')}
        <tbody>
          <tr>
            <td>Credits (top-up ${purchase.name})</td>
            <td>${usd(payment.amountUSD)}</td>
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">VAT: no tax</th>
            <td>0.00 USD</td>
          </tr>
          <tr>
            <th scope="row">Total</th>
            <td>${usd(payment.amountUSD)}</td>
          </tr>
        </tfoot>
      </table>
      <p>Paid in full on ${dayOf(payment.time)} by ${methodOf(checkout)}.</p>
      ${creditNotes.length === 0 ? undefined : creditNotesOf(checkout, number)} ${disputesOf(checkout)}
      ${backTo(checkout)}`,
  };
}

function headOf(first: string): Html {
  return html`<thead>
    <tr>
      <th scope="col">${first}</th>
      <th scope="col">Amount</th>
    </tr>
  </thead>`;
}

function creditNotesOf({ creditNotes, payment }: PaidCheckout, number: string): Html {
  const rows = creditNotes.map(
    ({ amountUSD, time }, i) =>
      html`<tr>
        <td>${number}-C${i + 1} of ${dayOf(time)}</td>
        <td>−${usd(amountUSD)}</td>
      </tr> `,
  );
  const left = new USD(payment.amountUSD).minus(sumUSD(creditNotes.map(({ amountUSD }) => amountUSD)));
  return html`<h2>Credit notes to this invoice</h2>
    <table>
      ${headOf('Number and date')}
      <tbody>
        ${rows}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Left of the invoice</th>
          <td>${usd(showUSD(left))}</td>
        </tr>
      </tfoot>
    </table>`;
}

const DISPUTED = {
  Open: 'disputed, not decided',
  Won: 'disputed, kept by the seller',
  Lost: 'disputed, back with the payer',
};

/** A lost dispute takes the money without a credit note, so that the invoice says it. */
function disputesOf({ payment: { disputes } }: PaidCheckout): readonly Html[] {
  return disputes.map(({ amountUSD, state }) => html`<p>${usd(amountUSD)}: ${DISPUTED[state]}.</p> `);
}

export function receiptPage(checkout: PaidCheckout): Page {
  const { id, purchase, payment, creditNotes } = checkout;
  const refunds = creditNotes.map(
    ({ amountUSD, time }) =>
      html`<dt>Paid back</dt>
        <dd>${usd(amountUSD)} on ${momentOf(time)}</dd> `,
  );
  const disputes = payment.disputes.map(
    ({ amountUSD, state }) =>
      html`<dt>Dispute</dt>
        <dd>${usd(amountUSD)}: ${DISPUTED[state]}</dd> `,
  );
  const number = invoiceNumber(checkout);
  return {
    title: `Receipt for ${usd(payment.amountUSD)}`,
    isPaper: true,
    body: html`${TEST_NOTICE}
      <h1>Receipt for ${usd(payment.amountUSD)}</h1>
      <dl>
        <dt>Paid</dt>
        <dd>${momentOf(payment.time)}</dd>
        <dt>Amount</dt>
        <dd>${usd(payment.amountUSD)}</dd>
        <dt>Paid by</dt>
        <dd>${methodOf(checkout)}</dd>
        <dt>For</dt>
        <dd>Credits (top-up ${purchase.name})</dd>
        <dt>Payment</dt>
        <dd>${payment.payment}</dd>
        <dt>Invoice</dt>
        <dd><a href="/checkout/${id}/invoice">${number}</a></dd>
        ${refunds}${disputes}
      </dl>
      ${backTo(checkout)}`,
  };
}

function methodOf({ payment: { method } }: PaidCheckout): string {
  return method === undefined ? 'bank transfer' : `${method.brand} card ending in ${method.last4}`;
}

function backTo({ id }: PaidCheckout): Html {
  return html`<nav aria-label="Payment">
    <p><a href="/checkout/${id}">Back to the payment</a></p>
  </nav>`;
}
