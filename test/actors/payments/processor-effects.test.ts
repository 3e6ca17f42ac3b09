/** What a charge of a saved card sends to the processor, and under which key. */
import test from 'ava';
import { chargeCardEffect, type ProcessorEffectDeps } from '../../../actors/payments/processor-effects.js';
import { encodeObject } from '../../../src/api/encode.js';
import type { ChargeRequest, FindChargeOutcome, PaymentProcessor } from '../../../src/engines/payments/processor.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';

const card = (method: string) => ({
  processor: 'Stripe' as const,
  customer: 'cus_1',
  method,
  brand: 'visa',
  last4: '4242',
});
const NOW = Date.UTC(2026, 10, 27, 12);
const HOUR_MS = 3_600_000;
const ADDRESS = { org: 'acme', kind: 'TopUp', project: '', name: 'recharge' };

/** A TopUp that waits to be charged, a Wallet with this card, and a processor that answers nothing. */
function openEffect(
  saved: string | undefined,
  name: PaymentProcessor['name'] = 'Stripe',
  found: FindChargeOutcome = { outcome: 'Absent' },
) {
  const [charged, told, looked]: [ChargeRequest[], ObjectMessage[], number[]] = [[], [], []];
  const charge: PaymentProcessor['charge'] = async (request) => {
    charged.push(request);
    return { outcome: 'Unreachable', message: 'away' };
  };
  const findCharge: PaymentProcessor['findCharge'] = async (_request, since) => {
    looked.push(since);
    return found;
  };
  const topUp = { metadata: { name: 'recharge', uid: 'uid-1', resourceVersion: '1' }, status: { phase: 'Queued' } };
  const deps = {
    ...{ processor: { name, charge, findCharge }, clock: () => NOW, paymentBase: 'https://troupe.test' },
    read: async () => encodeObject(topUp as never),
    objects: { read: async () => ({ private: JSON.stringify(saved === undefined ? {} : { card: card(saved) }) }) },
    tell: async (_row: unknown, _to: unknown, _uid: unknown, message: ObjectMessage) => {
      told.push(message);
      return { outcome: 'Done' };
    },
  } as unknown as ProcessorEffectDeps;
  const run = (asked?: string, expires = NOW + 1) =>
    chargeCardEffect.run(
      { address: ADDRESS, uid: 'uid-1' } as never,
      { type: 'ChargeCard', amountUSD: '10.00', expires, ...(asked !== undefined && { card: card(asked) }) },
      deps,
      { signal: AbortSignal.timeout(10_000) } as never,
    );
  return { charged, told, looked, run };
}

test('a TopUp that has kept no card yet hears of the saved one, which is not charged, and without a saved card its payment is refused', async (t) => {
  const has = openEffect('pm_1');
  await has.run();
  t.deepEqual(has.told, [{ type: 'CardChosen', card: card('pm_1') }]);
  t.deepEqual(has.charged, []);
  const none = openEffect(undefined);
  await none.run();
  t.deepEqual(none.told, [{ type: 'PaymentRefused', message: 'no card is saved at this payment processor' }]);
});

test('a charge is repeated with its key and the card that was kept, also when the Wallet has another one', async (t) => {
  const { charged, run, told } = openEffect('pm_2');
  t.is((await run('pm_1')).outcome, 'Retry');
  t.is((await run('pm_1')).outcome, 'Retry');
  t.deepEqual(
    charged.map(({ key, card: { method } }) => [key, method]),
    [
      ['topup/uid-1', 'pm_1'],
      ['topup/uid-1', 'pm_1'],
    ],
  );
  t.deepEqual(told, []);
});

test('a card that was chosen at another processor waits for that one, which may have charged it', async (t) => {
  const { charged, run, told } = openEffect('pm_1', 'Test');
  t.is((await run('pm_1')).outcome, 'Retry');
  t.deepEqual([charged, told], [[], []]);
});

test('a charge that is over its time is never asked for again, but looked for: a card is charged once after days of silence', async (t) => {
  const made = openEffect('pm_1', 'Stripe', { outcome: 'Charged', payment: 'pi_1' });
  await made.run('pm_1', NOW - HOUR_MS);
  t.deepEqual(made.told, [{ type: 'CardCharged', payment: 'pi_1' }]);
  t.true((made.looked[0] ?? NOW) < NOW - 24 * HOUR_MS, 'from before its first try');
  const never = openEffect('pm_1');
  await never.run('pm_1', NOW - HOUR_MS);
  t.like(never.told, [{ type: 'PaymentRefused' }]);
  t.deepEqual([made.charged, never.charged], [[], []]);
});

test('a charge whose time has just ended may still be under way, so that nobody says yet that there is none', async (t) => {
  const { charged, looked, run, told } = openEffect('pm_1');
  t.is((await run('pm_1', NOW)).outcome, 'Retry');
  t.is((await run('pm_1', NOW - 60_000)).outcome, 'Retry');
  t.deepEqual([charged, looked, told], [[], [], []]);
});

test('a TopUp whose card is kept by a processor that is gone for a day has failed, and says where to look', async (t) => {
  const { run, told } = openEffect('pm_1', 'Test');
  await run('pm_1', NOW - HOUR_MS);
  const message = 'its card is kept by Stripe, which is not the processor now; look there whether it was charged';
  t.deepEqual(told, [{ type: 'PaymentRefused', message }]);
});
