/** The checkout page of the embedded test processor in each of its states. Strangers with the link see the amount and the TopUp's name. */
import type { PaidPayment, Payment } from '../../src/kinds/topup/payment.js';
import type { TestCheckout } from '../../src/engines/payments/test/desk.js';
import { html, type Html } from './html.js';
import { sumUSD, USD } from '../../src/money/usd.js';
import { momentOf, usd, type Page } from './page.js';

/** What the page says of the action before it. */
export type Note = 'declined' | 'refused' | 'not-now' | 'done';

interface Said {
  readonly tone: 'good' | 'bad';
  readonly text: string;
  /** The state that it speaks of: on an old address it would contradict what is shown below. */
  readonly only?: Payment['state'];
}

const NOTES: Readonly<Record<Note, Said>> = {
  declined: {
    ...{ tone: 'bad', only: 'Open' },
    text: 'The card was declined. Nothing was paid: try again, or pay with another card.',
  },
  refused: { tone: 'bad', only: 'Failed', text: 'The bank refused the payment.' },
  'not-now': { tone: 'bad', text: 'That is not possible any more. This is how the payment stands now.' },
  done: { tone: 'good', text: 'Done. This is how the payment stands now.' },
};

export function noteOf(text: string | null): Note | undefined {
  return text !== null && Object.hasOwn(NOTES, text) ? (text as Note) : undefined;
}

export const TEST_NOTICE = html`<p class="test">
  <strong>This is a test.</strong> No card is charged and no money moves.
</p>`;

export function checkoutPage(checkout: TestCheckout, note: Note | undefined): Page {
  const { title, body } = stateOf(checkout);
  const said = note && fitting(NOTES[note], checkout);
  return {
    title: said === undefined ? `${title} – test payment` : `${said.text} ${title} – test payment`,
    formTargets: [checkout.doneURL, checkout.cancelURL],
    body: html`${TEST_NOTICE} ${said && html`<p class="said ${said.tone}" role="alert">${said.text}</p>`}
      <h1>${title}</h1>
      ${body}`,
  };
}

function fitting(said: Said, { payment }: TestCheckout): Said | undefined {
  return said.only === undefined || said.only === payment.state ? said : undefined;
}

interface State {
  readonly title: string;
  readonly body: Html;
}

function stateOf(checkout: TestCheckout): State {
  const { payment, amountUSD, cancelURL } = checkout;
  switch (payment.state) {
    case 'Open':
      return { title: `Pay ${usd(amountUSD)}`, body: openBody(checkout) };
    case 'Pending':
      return { title: 'Waiting for the bank', body: pendingBody(checkout) };
    case 'Paid':
      return { title: paidTitle(checkout, payment), body: paidBody(checkout, payment) };
    case 'Expired':
      return {
        title: 'This page has expired',
        body: html`<p>Nothing was paid, and nobody can pay here any more. Begin a new payment where you came from.</p>
          ${purchaseOf(checkout)}${linkTo(cancelURL, 'Go back')}`,
      };
    case 'Failed':
    case 'Mismatch':
      return {
        title: 'The payment failed',
        body: html`<p>Nothing was paid: ${payment.message}. Begin a new payment where you came from.</p>
          ${purchaseOf(checkout)}${linkTo(cancelURL, 'Go back')}`,
      };
  }
}

function paidTitle(checkout: TestCheckout, { amountUSD, disputes }: PaidPayment): string {
  const left = leftOf(checkout, amountUSD);
  if (left.lte(0)) return `Paid ${usd(amountUSD)}, and all of it paid back`;
  return disputes.some(({ state }) => state === 'Lost')
    ? `Paid ${usd(amountUSD)}, lost in a dispute`
    : `Paid ${usd(amountUSD)}`;
}

function leftOf({ creditNotes }: TestCheckout, amountUSD: string): USD {
  return new USD(amountUSD).minus(sumUSD(creditNotes.map((note) => note.amountUSD)));
}

function purchaseOf({ purchase, amountUSD }: TestCheckout, more?: Html): Html {
  return html`<dl>
    <dt>You buy</dt>
    <dd>Credits for ${usd(amountUSD)}</dd>
    <dt>Top-up</dt>
    <dd>${purchase.name}</dd>
    ${more}
  </dl> `;
}

function linkTo(url: string, text: string): Html | undefined {
  return url === '' ? undefined : html`<p><a href="${url}">${text}</a></p>`;
}

function formOf({ id }: TestCheckout, content: Html): Html {
  return html`<form method="post" action="/checkout/${id}">${content}</form> `;
}

function openBody(checkout: TestCheckout): Html {
  const { amountUSD, expires, saveCard } = checkout;
  const keep = html`<div class="choice">
    <input type="checkbox" id="save" name="save" value="on" aria-describedby="save-hint" />
    <div>
      <label for="save">Save the card for automatic purchases</label>
      <div class="soft" id="save-hint">
        It can then be charged again without you. To try failures: a charge of a saved card is declined when its amount
        ends in .13, such as 25.13 USD.
      </div>
    </div>
  </div>`;
  return html`${purchaseOf(
    checkout,
    html`<dt>Open until</dt>
      <dd>${momentOf(expires)}</dd> `,
  )}
  ${formOf(
    checkout,
    html`<fieldset>
        <legend>Test card ending in 4242</legend>
        ${saveCard ? keep : undefined}<button class="main" name="action" value="pay">Pay ${usd(amountUSD)}</button>
        <button name="action" value="decline">Try a card that is declined</button>
      </fieldset>
      <fieldset>
        <legend>Bank transfer</legend>
        <p class="soft" id="bank-hint">The payment then waits until you say here what the bank does.</p>
        <button name="action" value="bank" aria-describedby="bank-hint">Pay by bank transfer</button>
      </fieldset>
      <button name="action" value="abandon">Give up and go back</button>`,
  )}`;
}

function pendingBody(checkout: TestCheckout): Html {
  return html`<p>You have done everything. The credits come when the bank has paid, whatever this page shows.</p>
    ${purchaseOf(checkout)}
    ${formOf(
      checkout,
      html`<fieldset>
        <legend>What does the bank do in this test?</legend>
        <button class="main" name="action" value="bank-pays">The bank pays</button>
        <button name="action" value="bank-refuses">The bank refuses</button>
      </fieldset>`,
    )}${linkTo(checkout.doneURL, 'See how your top-up stands')}`;
}

function paidBody(checkout: TestCheckout, payment: PaidPayment): Html {
  const { id, doneURL, creditNotes } = checkout;
  const refunds = creditNotes.map(
    ({ amountUSD, time }) =>
      html`<dt>Paid back</dt>
        <dd>${usd(amountUSD)} on ${momentOf(time)}</dd> `,
  );
  const how =
    payment.method === undefined ? 'bank transfer' : `${payment.method.brand} card ending in ${payment.method.last4}`;
  return html`${purchaseOf(
      checkout,
      html`<dt>Paid</dt>
        <dd>${momentOf(payment.time)}, by ${how}</dd>
        ${refunds}`,
    )}
    <nav aria-label="Documents">
      <p><a href="/checkout/${id}/receipt">Receipt</a></p>
      <p><a href="/checkout/${id}/invoice">Invoice</a></p>
    </nav>
    ${linkTo(doneURL, 'See how your top-up stands')} ${disputeOf(checkout, payment)}`;
}

const DISPUTED: Readonly<Record<PaidPayment['disputes'][number]['state'], string>> = {
  Open: 'is disputed, and the bank has not decided',
  Won: 'was disputed, and the bank decided for the shop',
  Lost: 'was disputed, and the bank decided for the payer',
};

/** What a payer's bank may do to the shop later, to be tried. */
function disputeOf(checkout: TestCheckout, { amountUSD, disputes }: PaidPayment): Html | undefined {
  const [dispute] = disputes;
  if (dispute === undefined && leftOf(checkout, amountUSD).lte(0)) return undefined;
  const buttons: Html[] = [];
  if (dispute === undefined) {
    buttons.push(
      html`<button name="action" value="dispute" aria-describedby="dispute-hint">Dispute this payment</button> `,
    );
  } else {
    if (dispute.state !== 'Won')
      buttons.push(
        html`<button name="action" value="win">
          ${dispute.state === 'Lost' ? 'An appeal is decided' : 'Decide'} for the shop
        </button> `,
      );
    if (dispute.state === 'Open') buttons.push(html`<button name="action" value="lose">Decide for the payer</button> `);
  }
  const hint =
    dispute === undefined
      ? 'As payers do when they ask their bank for the money back.'
      : `${usd(dispute.amountUSD)} ${DISPUTED[dispute.state]}.`;
  return formOf(
    checkout,
    html`<fieldset>
      <legend>Test of a dispute</legend>
      <p class="soft" id="dispute-hint">${hint}</p>
      ${buttons}
    </fieldset>`,
  );
}
