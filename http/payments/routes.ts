/**
 * Serves the pages of payments, to browsers and without a key: the checkout page of the embedded test processor with its papers, and the
 * pages that browsers come back to from any processor. Who knows the id or the token of an address may see it, and nothing else of the org.
 * Whatever goes wrong is a page too. They count as all requests of an address without a key (`application.ts`).
 */
import type { Router, RouterContext } from '@koa/router';
import { ERROR_TABLE } from '../../src/api/errors/table.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { DeskOutcome, PaidCheckout, TestCheckout, TestDesk } from '../../src/engines/payments/test/desk.js';
import { traceOf } from '../errors.js';
import { exchangeOf } from '../exchange.js';
import { notActive } from '../not-active.js';
import type { ServerContext } from '../server-context.js';
import { checkoutPage, noteOf, type Note } from './checkout-page.js';
import { isForeign, isForm, MOST_FORM, readAction } from './form.js';
import { landingPage } from './landing-page.js';
import { answerPage, NO_SUCH_PAGE, problemPage, setHeaders, type Page } from './page.js';
import { invoicePage, receiptPage } from './papers.js';

type Serve = (ctx: RouterContext) => Promise<void>;

export function checkoutRoutes(router: Router, context: ServerContext): void {
  const page = (serve: Serve) => inHtml(context, serve);
  const ofDesk = (serve: (ctx: RouterContext, desk: TestDesk) => Promise<void>) =>
    page(async (ctx) => {
      const { desk } = context.payments;
      await (desk === undefined ? answerPage(ctx, 404, NO_SUCH_PAGE) : serve(ctx, desk));
    });

  router.get(
    '/checkout/:id',
    ofDesk(async (ctx, desk) => {
      const checkout = await desk.find(parameter(ctx, 'id'));
      const note = noteOf(new URLSearchParams(ctx.querystring).get('note'));
      if (checkout === undefined) answerPage(ctx, 404, NO_SUCH_PAGE);
      else answerPage(ctx, 200, checkoutPage(checkout, note));
    }),
  );
  router.post(
    '/checkout/:id',
    ofDesk((ctx, desk) => act(ctx, desk, context)),
  );
  for (const [paper, make] of [
    ['receipt', receiptPage],
    ['invoice', invoicePage],
  ] as const) {
    router.get(
      `/checkout/:id/${paper}`,
      ofDesk(async (ctx, desk) => {
        const checkout = await desk.find(parameter(ctx, 'id'));
        if (checkout === undefined || !isPaid(checkout)) answerPage(ctx, 404, NO_SUCH_PAGE);
        else answerPage(ctx, 200, make(checkout));
      }),
    );
  }
  for (const [path, way] of [
    ['done', 'Done'],
    ['cancelled', 'Cancelled'],
  ] as const) {
    router.get(
      `/payments/${path}/:uid/:token`,
      page(async (ctx) => {
        const [uid, token] = [parameter(ctx, 'uid'), parameter(ctx, 'token')];
        const isShort = uid.length <= MOST_PART && token.length <= MOST_PART;
        // A HEAD request is sent by no browser that comes back, and must not use up the address that the browser is sent to once.
        const asked = isShort && ctx.method === 'GET' && context.payments.processor !== undefined;
        const landing = asked
          ? await context.payments.landing(uid, token, way, context.deadlines.current())
          : undefined;
        if (landing === undefined) answerPage(ctx, 404, NO_SUCH_PAGE);
        else answerPage(ctx, 200, landingPage(landing));
      }),
    );
  }
}

/** Longest uid and token, in characters. */
const MOST_PART = 256;

function parameter(ctx: RouterContext, name: string): string {
  return ctx.params[name] ?? '';
}

function isPaid(checkout: TestCheckout): checkout is PaidCheckout {
  return checkout.payment.state === 'Paid' && checkout.invoice !== undefined;
}

/** A form of the checkout page: acts, has the TopUp hear of it, and sends the browser on. */
async function act(ctx: RouterContext, desk: TestDesk, context: ServerContext): Promise<void> {
  const x = exchangeOf(ctx.res);
  if (isForeign(x, context.config.publicUrl)) throw refuse('Forbidden', 'the form was sent by another site', FORM_FIX);
  if (!isForm(x)) throw refuse('UnsupportedMediaType', 'this address takes a form', FORM_FIX);
  const action = readAction(await context.bodies.takeSmall(x, MOST_FORM));
  if (action === undefined) throw refuse('BadRequest', 'the form has no action that is known', FORM_FIX);
  const outcome = await desk.act(parameter(ctx, 'id'), action);
  if (outcome.outcome === 'Absent') return answerPage(ctx, 404, NO_SUCH_PAGE);
  if (outcome.outcome === 'Done') await settle(outcome.checkout, context);
  setHeaders(ctx);
  ctx.redirect(whereTo(outcome, action.action));
  ctx.status = 303;
}

const FORM_FIX = { fix: 'Use the buttons of the payment page.' };

/** The payment stands whether or not its TopUp hears of it now: its timer reads the payment again later. */
async function settle({ purchase }: TestCheckout, context: ServerContext): Promise<void> {
  try {
    await context.payments.settle(purchase, context.deadlines.current());
  } catch (error) {
    context.log.warn(traceOf(error), 'a payment could not be settled at once');
  }
}

/** A button that was pressed twice leads where the first press led: the browser follows the second answer alone. */
function whereTo({ outcome, checkout }: Exclude<DeskOutcome, { outcome: 'Absent' }>, action: string): string {
  const { doneURL, cancelURL, payment } = checkout;
  if (action === 'Pay' && payment.state === 'Paid' && doneURL !== '') return doneURL;
  if (action === 'Abandon' && outcome === 'Done' && cancelURL !== '') return cancelURL;
  return `/checkout/${checkout.id}?note=${noteAfter(outcome, action)}`;
}

function noteAfter(outcome: 'Done' | 'NotNow', action: string): Note {
  if (outcome === 'NotNow') return 'not-now';
  if (action === 'Decline') return 'declined';
  return action === 'BankRefuses' ? 'refused' : 'done';
}

/** A browser deserves a page for a refusal too. A fault of this program goes to the funnel, which logs it. */
function inHtml(context: ServerContext, serve: Serve): Serve {
  return async (ctx) => {
    try {
      if (!context.health.active()) throw notActive(context.health.missing());
      if (context.draining() && ctx.method === 'POST')
        throw refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 2 });
      await serve(ctx);
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      const { code, message, fix, retryAfterSeconds } = error.refusal;
      const { status, title, ...entry } = ERROR_TABLE[code];
      const wait = retryAfterSeconds ?? entry.retryAfterSeconds;
      if (typeof wait === 'number') ctx.set('retry-after', String(Math.max(1, Math.ceil(wait))));
      answerPage(ctx, status, refusalPage(title, message, fix ?? entry.fix));
    }
  };
}

function refusalPage(title: string, message: string, fix: string): Page {
  return problemPage(title, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, fix);
}
