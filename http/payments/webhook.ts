/**
 * Serves `POST /payments/stripe`, to which Stripe sends its webhooks. It needs no API key: the signature over the bytes says that a webhook
 * is genuine, and it counts against the rate of its address as all requests without a key do. What it says is committed before the answer,
 * since Stripe sends again only what was not answered with 2xx.
 *
 * I10: a body has at most MOST_BODY bytes, and BODY_MS to come; an address sends READ_OF_ADDRESS at once, and all together READ; MOST_AT_ONCE that
 * have come are worked on at once. One more is 503, after which Stripe sends it again.
 */
import type { Router } from '@koa/router';
import { abortable } from '../../actors/wait.js';
import { refuse } from '../../src/api/refusal.js';
import { exchangeOf, type Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import type { ServerContext } from '../server-context.js';

const MOST_BODY = 1024 * 1024;
const BODY_MS = 10_000;
/** Bodies without a key are counted nowhere else. */
const READ = 256;
const READ_OF_ADDRESS = 40;
const MOST_AT_ONCE = 32;

export function webhookRoutes(router: Router, context: ServerContext): void {
  const reading = new Map<string, number>();
  let [read, atOnce] = [0, 0];

  /** Those that send slowly keep places of their own address alone. */
  async function readBody(x: Exchange): Promise<Buffer> {
    const ofAddress = reading.get(x.from) ?? 0;
    if (read >= READ || ofAddress >= READ_OF_ADDRESS) throw later(x, 'too many webhooks are on their way at once', 1);
    read += 1;
    reading.set(x.from, ofAddress + 1);
    try {
      const slow = AbortSignal.timeout(BODY_MS);
      return await abortable(context.bodies.takeSmall(x, MOST_BODY), slow).catch((error: unknown) => {
        throw slow.aborted
          ? unread(x, refuse('BadRequest', `the webhook did not arrive within ${BODY_MS / 1_000} s`))
          : error;
      });
    } finally {
      read -= 1;
      const left = (reading.get(x.from) ?? 1) - 1;
      if (left === 0) reading.delete(x.from);
      else reading.set(x.from, left);
    }
  }

  router.post('stripe-webhook', '/payments/stripe', async (ctx) => {
    const x = exchangeOf(ctx.res);
    x.resource = 'payments';
    x.verb = 'webhook';
    gate(x, context);
    const signature = x.header('stripe-signature');
    if (signature === undefined)
      throw unread(x, refuse('BadRequest', 'the webhook has no header Stripe-Signature', { fix: FIX }));
    const { processor } = context.payments;
    if (processor !== 'Stripe') throw unread(x, refuse('BadRequest', 'this service takes no webhooks', { fix: FIX }));
    const body = await readBody(x);
    if (atOnce >= MOST_AT_ONCE) throw later(x, 'too many webhooks are worked on at once', 1);
    atOnce += 1;
    try {
      await takeWebhook(x, body, signature, context);
    } finally {
      atOnce -= 1;
    }
    ctx.body = { received: true };
  });
}

/** Resolves when Stripe need not send it again. */
async function takeWebhook(
  x: Exchange,
  body: Buffer,
  signature: string,
  { deadlines, payments }: ServerContext,
): Promise<void> {
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

function later(x: Exchange, message: string, retryAfterSeconds: number): Error {
  return unread(x, refuse('Unavailable', message, { retryAfterSeconds }));
}

/** The connection ends with the answer when the body was not read. */
function unread(x: Exchange, error: Error): Error {
  if (!x.req.complete) x.res.shouldKeepAlive = false;
  return error;
}
