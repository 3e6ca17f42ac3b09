/**
 * Serves `POST …/wallet/redemptions`: an org redeems a promo code, and is answered the CreditGrant that it got. Each try takes the same
 * statements of the database, whether there is such a code or not, and tries of codes that do not exist are bounded per org.
 */
import { z } from 'zod';
import type { Caller } from '../../actors/resource-service.js';
import { refuse } from '../../src/api/refusal.js';
import { requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { readInput } from '../input.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { checkIdempotencyKey, fingerprintOf } from '../resources/options.js';
import { mediaType, parseRecord, unknownFormat } from '../resources/parse.js';
import type { Keyed } from '../../storage/commit/request.js';
import type { ServerContext } from '../server-context.js';

/** Of a code; the name of its CreditGrant is made of it, so no dash begins or ends it. */
export const PROMO_CODE = /^[A-Za-z0-9][A-Za-z0-9-]{2,62}[A-Za-z0-9]$/;
export const PROMO_CODE_RULE =
  'must be 4 to 64 letters, digits and dashes, with a letter or digit at both ends; case does not matter';

const Redeem = z.strictObject({ code: z.string().regex(PROMO_CODE, PROMO_CODE_RULE) });

export async function redeem(x: Exchange, context: ServerContext, caller: Caller): Promise<void> {
  if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
  x.verb = 'create';
  requireScope(caller, 'billing:write', '');
  if (mediaType(x, 'application/json') !== 'application/json') throw unknownFormat(['application/json']);
  const body = await context.bodies.read(x);
  const { code } = readInput(Redeem, parseRecord(body).value);
  const keyed = keyOf(x, caller, body);
  const release = keyed && context.inflightIdempotency.take(caller.org, keyed.holder, keyed.key, keyed.fingerprint);
  const redeemed = await context.promotions.redeem(caller.org, code.toUpperCase(), keyed).finally(release);
  switch (redeemed.outcome) {
    case 'Granted':
      return replyJson(x, 201, redeemed.grant, {
        'cache-control': 'no-store',
        ...(redeemed.replayed && { 'idempotency-replayed': 'true' }),
      });
    case 'Unknown':
      throw refuse('NotFound', 'this promo code does not exist', {
        fix: 'Check the code: letters, digits and dashes.',
      });
    case 'Expired':
      throw refuse('PromoCodeExpired', 'the promo code has expired, or its operator has withdrawn it');
    case 'UsedUp':
      throw refuse('PromoCodeUsed', 'the promo code was redeemed as often as it may be');
    case 'Redeemed':
      throw refuse('PromoCodeUsed', `this org has redeemed the promo code: it has the CreditGrant "${redeemed.grant}"`);
    case 'Limited':
      throw refuse('TooManyRequests', 'this org has tried too many promo codes that do not exist', {
        fix: 'Wait as long as Retry-After says, and check the code before the next try.',
        retryAfterSeconds: redeemed.retryAfterSeconds,
      });
  }
}

function keyOf(x: Exchange, { holder }: Caller, body: Buffer): Keyed | undefined {
  const key = x.header('idempotency-key');
  if (key === undefined) return undefined;
  checkIdempotencyKey(key);
  return { holder, key, fingerprint: fingerprintOf(x, body) };
}
