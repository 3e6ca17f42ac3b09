/** What the browser sees when it comes back from a payment processor, this deployment's own or Stripe. */
import type { Landing } from '../../actors/payments/service.js';
import { html, type Html } from './html.js';
import { originOf, usd, type Page } from './page.js';

export function landingPage(landing: Landing): Page {
  const { redirect, checkoutURL } = landing;
  if (redirect !== undefined && originOf(redirect) !== undefined) return onwardPage(landing, redirect);
  const { title, text, looksAgain = false } = standingOf(landing);
  const canPay = landing.phase === 'Running' && !landing.paid && checkoutURL !== undefined;
  return {
    title,
    looksAgain,
    body: html`<h1>${title}</h1>
      <p>${text}</p>
      ${purchaseOf(landing)} ${canPay ? html`<p><a href="${checkoutURL}">Go to the payment page</a></p>` : undefined}
      ${linkTo(landing.receiptURL, 'Receipt')} ${linkTo(landing.invoiceURL, 'Invoice')}`,
  };
}

const PENDING = 'PaymentPending';

/**
 * A redirect would not do: the browser may come here by the redirect of a form, and Chromium then goes to no origin that the form's page has
 * not named (`form-action`), and the customer's address is given once.
 */
function onwardPage(landing: Landing, redirect: string): Page {
  const { title } = standingOf(landing);
  return {
    title,
    next: redirect,
    body: html`<h1>${title}</h1>
      <p>You are going back to where you came from. <a href="${redirect}">Go on</a> if nothing happens.</p>`,
  };
}

function linkTo(url: string | undefined, text: string): Html | undefined {
  return url === undefined || originOf(url) === undefined ? undefined : html`<p><a href="${url}">${text}</a></p>`;
}

function purchaseOf({ name, amountUSD }: Landing): Html {
  return html`<dl>
    <dt>Top-up</dt>
    <dd>${name}</dd>
    <dt>Amount</dt>
    <dd>${usd(amountUSD)}</dd>
  </dl>`;
}

interface Standing {
  readonly title: string;
  readonly text: string;
  /** It will soon be otherwise. */
  readonly looksAgain?: boolean;
}

function standingOf({ phase, reason, paid }: Landing): Standing {
  if (paid && phase !== 'Succeeded')
    return { title: 'Paid', text: 'The payment has arrived, and the credits are on their way.', looksAgain: true };
  switch (phase) {
    case 'Succeeded':
      return { title: 'Paid and credited', text: 'The payment has arrived, and the credits were added to the wallet.' };
    case 'Failed':
      return reason === 'Expired'
        ? { title: 'The payment page has expired', text: 'Nothing was paid. Make a new top-up to try again.' }
        : { title: 'The payment failed', text: 'Nothing was credited. Make a new top-up to try again.' };
    case 'Queued':
      return { title: 'Not paid yet', text: 'The payment page is being prepared.', looksAgain: true };
    case 'Running':
      return reason === PENDING
        ? {
            title: 'Waiting for the bank',
            text: 'You have done everything. The credits come when the bank has paid; this page need not stay open.',
          }
        : {
            title: 'Not paid yet',
            text: 'No payment has arrived. If you have just paid, it is shown here in a moment.',
            looksAgain: true,
          };
  }
}
