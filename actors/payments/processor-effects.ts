/**
 * Carries out what a TopUp asks of its payment processor: OpenCheckout, ChargeCard, LookAtPayment. Each is idempotent by a key that was made
 * before the call (the TopUp's uid and the number of the try), so a crash between the call and the note of its answer makes no second page
 * and charges no card twice; a processor forgets keys, so one that is over its time is looked for instead. The request of a key is stored before it is sent, with the card: the same key with another card would be no repeat.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { PaymentProcessor, Unreachable } from '../../src/engines/payments/processor.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { Purchase } from '../../src/kinds/topup/payment.js';
import type { Settle } from './settlements.js';
import { WALLET_ADDRESS } from '../../src/kinds/wallet/address.js';
import type { WalletPrivate } from '../../src/kinds/wallet/state.js';
import type { Clock, Objects, StoredEffects } from '../../storage/store.js';
import type { LaterEffectDefinition } from '../effects/definition.js';
import { DONE, retry, type EffectOutcome } from '../effects/outcome.js';

export interface ProcessorEffectDeps {
  /** Undefined: this deployment takes no payments now. */
  readonly processor: PaymentProcessor | undefined;
  /** Origin of this service, for the pages that the browser comes back to. */
  readonly paymentBase: string;
  readonly objects: Pick<Objects, 'read'>;
  readonly clock: Clock;
  /** As in `payments.ts`: one look at a time at each purchase. */
  readonly settlePayment: Settle;
  read(address: Address): Promise<Buffer | undefined>;
  tell(row: StoredEffects, to: Address, uid: string | undefined, message: ObjectMessage): Promise<EffectOutcome>;
}

/** How long a charge may still be under way after the last one was asked for (ms). */
const UNDER_WAY_MS = 5 * 60_000;
/** A charge that is over its time was asked for in this time before (ms). */
const ASKED_BEFORE_MS = 48 * 3_600_000;
const laneOf = (): string => 'payment';
const NOT_CONFIGURED = 'no payment processor is configured';

export const openCheckoutEffect: LaterEffectDefinition<'OpenCheckout', ProcessorEffectDeps> = {
  pool: 'fetches',
  laneOf,
  async run(row, { attempt, expires, amountUSD, saveCard, token }, deps, { signal }) {
    const { processor, paymentBase, tell } = deps;
    if (processor === undefined) return retry(NOT_CONFIGURED);
    if (!(await isWaiting(row, deps))) return DONE;
    const back = (way: string): string => `${paymentBase}/payments/${way}/${row.uid}/${token}`;
    const outcome = await processor.openCheckout(
      {
        ...{ purchase: purchaseOf(row), key: `topup/${row.uid}/${attempt}`, amountUSD, expires, saveCard },
        ...{ doneURL: back('done'), cancelURL: back('cancelled') },
      },
      signal,
    );
    const answer = (message: ObjectMessage): Promise<EffectOutcome> => tell(row, row.address, row.uid, message);
    switch (outcome.outcome) {
      case 'Opened':
        return answer({ type: 'CheckoutOpened', attempt, id: outcome.id, url: outcome.url, expires: outcome.expires });
      case 'TooLate':
        return answer({ type: 'CheckoutTooLate', attempt });
      case 'Refused':
        return answer({ type: 'PaymentRefused', message: outcome.message });
      case 'Unreachable':
        return unreachable(outcome);
    }
  },
};

export const chargeCardEffect: LaterEffectDefinition<'ChargeCard', ProcessorEffectDeps> = {
  pool: 'fetches',
  laneOf,
  async run(row, { amountUSD, expires = Infinity, card }, deps, { signal }) {
    const { processor, tell, clock } = deps;
    if (processor === undefined) return retry(NOT_CONFIGURED);
    if (!(await isWaiting(row, deps))) return DONE;
    const answer = (message: ObjectMessage): Promise<EffectOutcome> => tell(row, row.address, row.uid, message);
    if (card === undefined) {
      const saved = await savedCard(row.address.org, processor.name, deps);
      return answer(
        saved === undefined
          ? { type: 'PaymentRefused', message: 'no card is saved at this payment processor' }
          : { type: 'CardChosen', card: saved },
      );
    }
    const late = clock() - expires;
    // It may have been charged there, and only there it can be known.
    if (card.processor !== processor.name) {
      const message = `its card is kept by ${card.processor}, which is not the processor now`;
      return late < 0
        ? retry(message)
        : answer({ type: 'PaymentRefused', message: `${message}; look there whether it was charged` });
    }
    if (late >= 0 && late < UNDER_WAY_MS) return retry('a charge of it may still be under way');
    const request = { purchase: purchaseOf(row), key: `topup/${row.uid}`, amountUSD, card };
    const outcome = await (late < 0
      ? processor.charge(request, signal)
      : processor.findCharge(request, expires - ASKED_BEFORE_MS, signal));
    switch (outcome.outcome) {
      case 'Absent':
        return answer({ type: 'PaymentRefused', message: 'the payment processor could not be reached in time' });
      case 'Charged':
        return answer({ type: 'CardCharged', payment: outcome.payment });
      case 'Declined':
        return answer({ type: 'PaymentRefused', message: outcome.message });
      case 'Unreachable':
        return unreachable(outcome);
    }
  },
};

export const lookAtPaymentEffect: LaterEffectDefinition<'LookAtPayment', ProcessorEffectDeps> = {
  pool: 'fetches',
  laneOf,
  async run(row, _effect, { settlePayment }, { signal }) {
    const settled = await settlePayment(purchaseOf(row), signal);
    return settled === 'Settled' ? DONE : retry('the payment processor did not say how the payment stands');
  },
};

function purchaseOf({ address: { org, name }, uid }: StoredEffects): Purchase {
  return { org, name, uid };
}

function unreachable({ message }: Unreachable): EffectOutcome {
  return retry(message);
}

/** Run again after a crash, it may find a TopUp that has its page, or has ended. */
async function isWaiting(row: StoredEffects, { read }: ProcessorEffectDeps): Promise<boolean> {
  const body = await read(row.address);
  if (body === undefined) return false;
  const { metadata, status } = decodeObject(body);
  return metadata.uid === row.uid && (status as { phase?: string } | undefined)?.phase === 'Queued';
}

async function savedCard(
  org: string,
  processor: PaymentProcessor['name'],
  { objects }: ProcessorEffectDeps,
): Promise<WalletPrivate['card']> {
  const wallet = await objects.read({ org, ...WALLET_ADDRESS });
  if (wallet?.private == null) return undefined;
  // Written by the Wallet's machine.
  const { card } = JSON.parse(wallet.private) as WalletPrivate;
  return card?.processor === processor ? card : undefined;
}
