/**
 * Serves `POST /ops/v1/topups/{uid}/refunds`: pays back what a TopUp has bought, all that is left of it or a part. The credits follow when the
 * processor says that it is paid back, which it nearly always does at once.
 */
import { randomUUID } from 'node:crypto';
import type { Router } from '@koa/router';
import { z } from 'zod';
import { refuse } from '../../src/api/refusal.js';
import { zUsd } from '../../src/api/schema.js';
import { sha256 } from '../../src/api/sha256.js';
import type { ServerContext } from '../server-context.js';
import type { OpsTools } from './promo-codes.js';

const Refund = z.strictObject({ amountUSD: zUsd({ above: '0', wholeCents: true }).optional() });

/** Precondition: only an operator comes here. */
export function topUpRefundRoutes(router: Router, context: ServerContext, tools: OpsTools): void {
  router.post('/ops/v1/topups/:uid/refunds', tools.readJson, async (ctx) => {
    const uid = ctx.params['uid'] ?? '';
    // A script whose variable is empty would pay back everything.
    if ((ctx.request.length ?? 0) === 0 && ctx.get('transfer-encoding') === '')
      throw refuse('BadRequest', 'nothing was paid back: the request has no body', {
        fix: 'Send {} to pay back all that is left, or {"amountUSD":"7.50"} for a part.',
      });
    const { amountUSD } = tools.bodyOf(ctx, Refund);
    const keyed = tools.keyedBy(ctx, tools.callerOf(ctx), { amountUSD });
    // The processor keeps the key, and refuses another amount under it.
    const key = keyed === undefined ? randomUUID() : sha256(`${keyed.holder}\n${keyed.key}`).slice(0, 40);
    const reply = await context.payments.refund(uid, amountUSD, key, context.deadlines.current());
    switch (reply.outcome) {
      case 'Refunded':
        ctx.status = 201;
        ctx.body = { refund: reply.refund, amountUSD: reply.amountUSD };
        return;
      case 'NotFound':
        throw refuse('NotFound', `no TopUp has the uid "${uid.slice(0, 64)}"`, {
          fix: 'The path takes metadata.uid of the TopUp, not its name.',
        });
      case 'Refused':
        throw refuse('Conflict', `nothing was paid back: ${reply.message}`, {
          fix: 'Look at status of the TopUp: what can be paid back is creditedUSD less refundedUSD, while nothing of it is disputed or lost in a dispute.',
        });
      case 'KeyUsed':
        throw refuse('IdempotencyKeyReused', `nothing was paid back: ${reply.message}`);
      case 'NotConfigured':
        throw refuse(
          'PaymentsNotConfigured',
          'this service takes no payments (TROUPE_PAYMENTS=off), so it pays nothing back now',
        );
      case 'Unreachable':
        throw refuse(
          'PaymentVerificationUnavailable',
          'the payment processor does not answer; it may have paid it back',
          {
            fix: 'Send the same request again with the same Idempotency-Key, which pays back once.',
          },
        );
    }
  });
}
