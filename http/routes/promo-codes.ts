/**
 * Serves `/ops/v1/promocodes`: operators make promo codes, look at them and withdraw them. A withdrawn one stays to be seen, and its code is never used
 * again: the CreditGrants that it gave have its name.
 */
import type { Router, RouterContext, RouterMiddleware } from '@koa/router';
import { z } from 'zod';
import type { Caller } from '../../actors/resource-service.js';
import { BOOTSTRAP_ORG } from '../../src/api/access/role.js';
import { formatDuration, parseDuration } from '../../src/api/duration.js';
import { refuse } from '../../src/api/refusal.js';
import { zDuration, zTimestamp, zUsd } from '../../src/api/schema.js';
import { parseTime, rfc3339 } from '../../src/api/time.js';
import { formatUsd } from '../../src/api/usd.js';
import type { Keyed } from '../../storage/commit/request.js';
import type { PromoCode } from '../../storage/payments/promo-codes.js';
import type { ServerContext } from '../server-context.js';
import { PROMO_CODE, PROMO_CODE_RULE } from './redemptions.js';

/** What the routes of operators share. */
export interface OpsTools {
  readonly readJson: RouterMiddleware;
  bodyOf<T>(ctx: RouterContext, schema: z.ZodType<T>): T;
  callerOf(ctx: RouterContext): Caller | undefined;
  keyedBy(ctx: RouterContext, caller: Caller | undefined, input: object): Keyed | undefined;
  paging(ctx: RouterContext): { readonly limit: number; readonly after: string };
}

const MOST_REDEMPTIONS = 2 ** 31 - 1;
const MOST_RULE = `must be a whole number from 1 to ${MOST_REDEMPTIONS}`;

const NewCode = z.strictObject({
  code: z.string().regex(PROMO_CODE, PROMO_CODE_RULE),
  amountUSD: zUsd({ above: '0' }),
  expirationTime: zTimestamp().optional(),
  maxRedemptions: z.int(MOST_RULE).min(1, MOST_RULE).max(MOST_REDEMPTIONS, MOST_RULE).optional(),
  creditsExpireAfter: zDuration({ min: '1m' }).optional(),
  note: z.string().max(1024).optional(),
});

/** Precondition: only an operator comes here. */
export function promoCodeRoutes(router: Router, context: ServerContext, tools: OpsTools): void {
  const { promotions } = context;

  router.post('/ops/v1/promocodes', tools.readJson, async (ctx) => {
    const input = tools.bodyOf(ctx, NewCode);
    const { amountUSD, expirationTime, maxRedemptions, creditsExpireAfter, note } = input;
    const code = input.code.toUpperCase();
    const expires = expirationTime === undefined ? undefined : parseTime(expirationTime);
    if (expires !== undefined && expires <= context.clock())
      throw refuse('Invalid', 'the promo code would have expired already', {
        causes: [{ field: 'expirationTime', reason: 'FieldValueInvalid', message: 'must be in the future' }],
      });
    const keyed = tools.keyedBy(ctx, tools.callerOf(ctx), input);
    const release =
      keyed && context.inflightIdempotency.take(BOOTSTRAP_ORG, keyed.holder, keyed.key, keyed.fingerprint);
    const made = await promotions
      .make(
        {
          ...{ code, amountUSD, maxRedemptions, note },
          expires,
          creditsLast: creditsExpireAfter === undefined ? undefined : parseDuration(creditsExpireAfter),
        },
        keyed,
      )
      .finally(release);
    if (made.outcome === 'Taken')
      throw refuse('AlreadyExists', `the promo code "${code}" already exists, or was withdrawn`, {
        fix: 'Choose another code.',
      });
    if (made.replayed) ctx.set('idempotency-replayed', 'true');
    ctx.status = 201;
    ctx.body = viewOf(made.code);
  });

  router.get('/ops/v1/promocodes', async (ctx) => {
    const { limit, after } = tools.paging(ctx);
    const codes = await promotions.list(after, limit + 1);
    const items = codes.slice(0, limit).map(viewOf);
    ctx.body = { items, metadata: codes.length > limit ? { continue: codes[limit - 1]?.code } : {} };
  });

  router.get('/ops/v1/promocodes/:code', async (ctx) => {
    ctx.body = viewOf(found(ctx, await promotions.find(codeIn(ctx))));
  });

  router.delete('/ops/v1/promocodes/:code', async (ctx) => {
    ctx.body = viewOf(found(ctx, await promotions.withdraw(codeIn(ctx))));
  });
}

function codeIn(ctx: RouterContext): string {
  return (ctx.params['code'] ?? '').toUpperCase();
}

function found(ctx: RouterContext, code: PromoCode | undefined): PromoCode {
  if (code === undefined) throw refuse('NotFound', `promo code "${codeIn(ctx).slice(0, 64)}" not found`);
  return code;
}

function viewOf(of: PromoCode): object {
  const { code, amountUSD, expires, maxRedemptions, creditsLast, note, redemptions, state, created, withdrawn } = of;
  return {
    ...{ code, amountUSD: formatUsd(amountUSD), state, redemptions, maxRedemptions, note },
    expirationTime: expires === undefined ? undefined : rfc3339(expires),
    creditsExpireAfter: creditsLast === undefined ? undefined : formatDuration(creditsLast),
    creationTimestamp: rfc3339(created),
    withdrawnTime: withdrawn === undefined ? undefined : rfc3339(withdrawn),
  };
}
