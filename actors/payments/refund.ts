/** Pays back what a TopUp has bought, at an operator's wish. The processor decides; the TopUp hears of it as of any other refund. */
import type { PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { PaymentRefund } from '../../src/kinds/topup/payment.js';
import { amountOf, showUSD, USD } from '../../src/money/usd.js';
import type { Purchases } from '../../storage/payments/purchases.js';
import type { Payments } from './service.js';
import type { Settle } from './settlements.js';

export function openRefunds(
  processor: PaymentProcessor,
  purchases: Pick<Purchases, 'find'>,
  settle: Settle,
): Payments['refund'] {
  return async (uid, amountUSD, key, signal) => {
    const purchase = await purchases.find(uid);
    if (purchase === undefined) return { outcome: 'NotFound' };
    const { paid, source } = purchase.kept;
    if (paid === undefined || source === undefined)
      return { outcome: 'Refused', message: `TopUp "${purchase.name}" is not paid` };
    const [part, all] = [`refund/${uid}/${key}`, `refund/${uid}/${key}/all`];
    const request = { purchase, source, key: amountUSD === undefined ? all : part };
    const earlier = paid.refunds.find((refund) => refund.key === part || refund.key === all);
    if (earlier !== undefined) return again(earlier, request.key, amountUSD);
    const back = paid.refunds.filter(({ state }) => state !== 'Failed').map((refund) => new USD(refund.amountUSD));
    const left = back.reduce((rest, amount) => rest.minus(amount), new USD(paid.amountUSD));
    // Whether a repeat whose refund is not settled yet asks for more than is left is the processor's to say, which knows the key.
    const amount = amountUSD === undefined ? left : amountOf(amountUSD);
    if (amount.lte(0)) return { outcome: 'Refused', message: 'all of it was paid back already' };
    const outcome = await processor.refund({ ...request, amountUSD: showUSD(amount) }, signal);
    switch (outcome.outcome) {
      case 'Refunded':
        // Else found by the next look at what has changed.
        await settle(purchase, signal);
        return { outcome: 'Refunded', refund: outcome.id, amountUSD: showUSD(amount) };
      case 'Refused':
        return amount.gt(left) ? { outcome: 'Refused', message: `${showUSD(left)} USD of it are left` } : outcome;
      case 'Unreachable':
        return { outcome: 'Unreachable' };
    }
  };
}

/** This key has paid back already: the same answer, for as long as the TopUp is there. */
function again(
  { id, key, amountUSD, state }: PaymentRefund,
  askedKey: string,
  asked: string | undefined,
): Awaited<ReturnType<Payments['refund']>> {
  // All that was left, or a part: these are different requests, whatever they came to.
  if (key !== askedKey || (asked !== undefined && !amountOf(asked).eq(amountUSD)))
    return { outcome: 'KeyUsed', message: `this Idempotency-Key has paid back ${showUSD(new USD(amountUSD))} USD` };
  if (state === 'Failed')
    return { outcome: 'Refused', message: `the refund "${id}" of this Idempotency-Key has failed; send another one` };
  return { outcome: 'Refunded', refund: id, amountUSD: showUSD(new USD(amountUSD)) };
}
