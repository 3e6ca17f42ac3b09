/**
 * Serves `POST /payments/stripe`, to which Stripe sends its webhooks. It needs no API key: the signature over the bytes says that a webhook
 * is genuine, and it counts against the rate of its address as all requests without a key do. What it says is committed before the answer,
 * since Stripe sends again only what was not answered with 2xx.
 *
 * I10: a body has at most MOST_BODY bytes; MOST_AT_ONCE are worked on at once, and one more is 503, after which Stripe sends it again.
 */
import type { Router } from '@koa/router';
import { refuse } from '../../src/api/refusal.js';
import { exchangeOf, type Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import type { ServerContext } from '../server-context.js';

const MOST_BODY = 1024 * 1024;
/** Bodies without a key are counted nowhere else. */
const MOST_AT_ONCE = 32;

export function webhookRoutes(router: Router, context: ServerContext): void {
  let atOnce = 0;
  router.post('stripe-webhook', '/payments/stripe', async (ctx) => {
    const x = exchangeOf(ctx.res);
    x.resource = 'payments';
    x.verb = 'webhook';
    gate(x, context);
    if (atOnce >= MOST_AT_ONCE) throw later(x, 'too many webhooks are worked on at once', 1);
    atOnce += 1;
    try {
      await takeWebhook(x, context);
    } finally {
      atOnce -= 1;
    }
    ctx.body = { received: true };
  });
}

/** Resolves when Stripe need not send it again. */
async function takeWebhook(x: Exchange, { bodies, deadlines, payments }: ServerContext): Promise<void> {
  const signature = x.header('stripe-signature');
  if (signature === undefined) {
    throw unread(x, refuse('BadRequest', 'the webhook has no header Stripe-Signature', { fix: FIX }));
  }
  if (Number(x.header('content-length') ?? 0) > MOST_BODY) throw unread(x, tooLarge());
  const body = await bodies.take(x);
  if (body.length > MOST_BODY) throw tooLarge();
  const noticed = await payments.notice(body, signature, deadlines.current());
  switch (noticed.outcome) {
    case 'Taken':
      return;
    case 'Refused':
      throw refuse('BadRequest', `the webhook is refused: ${noticed.message}`, { fix: FIX });
    case 'Later':
      throw later(x, 'the webhook cannot be committed now', 10);
  }
}

const FIX = 'Send it as Stripe signed it, with a signing secret that is set as STRIPE_WEBHOOK_SECRET.';

function tooLarge(): Error {
  return refuse('RequestEntityTooLarge', `the request body is larger than ${MOST_BODY} bytes`);
}

function later(x: Exchange, message: string, retryAfterSeconds: number): Error {
  return unread(x, refuse('Unavailable', message, { retryAfterSeconds }));
}

/** The connection ends with the answer when the body was not read. */
function unread(x: Exchange, error: Error): Error {
  if (!x.req.complete) x.res.shouldKeepAlive = false;
  return error;
}
