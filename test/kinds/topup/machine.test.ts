/** The life of a TopUp, message by message: credited once, taken back exactly, whatever comes in which order. */
import test from 'ava';
import fc from 'fast-check';
import type { PaymentDispute, PaymentRefund } from '../../../src/kinds/topup/payment.js';
import { nano } from '../../money/billionths.js';
import { NOW, openWorld, paid } from './world.js';
import { tries } from '../../support/extent.js';

test('a page is asked for, opened, paid and credited, and the browser is sent on once', (t) => {
  const w = openWorld({ successURL: 'http://localhost:4000/paid' });
  t.is(w.create(), 'Next');
  t.is(w.topUp.object.spec.successURL, undefined, 'it reads back empty');
  t.like(w.waiting(), [{ type: 'OpenCheckout', attempt: 1, amountUSD: '20.00', expires: NOW + 3_600_000 }]);
  w.opened();
  t.like(w.topUp.object.status, { phase: 'Running', checkoutURL: 'https://pay/cs_1' });
  w.changed(paid({ method: { brand: 'visa', last4: '4242' } }));
  t.like(w.topUp.object.status, { phase: 'Running', paidTime: '2026-11-12T12:00:00Z', paymentIntent: 'pi_1' });
  t.is(w.balance(), '0', 'the credits come with their CreditGrant');
  w.settle(true);
  t.is(w.balance(), '20');
  t.like(w.topUp.object.status, { phase: 'Succeeded', creditedUSD: '20.00', paymentMethod: { last4: '4242' } });
  t.deepEqual(
    w.topUp.object.status.conditions?.map(({ type, status }) => [type, status]),
    [
      ['Paid', 'True'],
      ['Credited', 'True'],
    ],
  );
  t.is(w.changed(paid({ method: { brand: 'visa', last4: '4242' } })), 'Ignored', 'a repeat costs no commit');
  t.deepEqual(w.eventNames(), ['topup.succeeded']);
  t.is(w.topUp.private?.successURL, 'http://localhost:4000/paid');
  w.tell({ type: 'BrowserSent' });
  t.is(w.topUp.private?.successURL, undefined);
});

test('it fails only when the processor says that nobody can pay, and a later payment is credited all the same', (t) => {
  const w = openWorld();
  w.create();
  w.opened();
  t.is(w.timers.get('look'), NOW + 3_605_000);
  w.at(NOW + 3_605_000);
  w.fire('look');
  t.like(w.waiting().at(-1), { type: 'LookAtPayment', source: { type: 'Checkout', id: 'cs_1' } });
  w.changed({ state: 'Open' });
  t.is(w.topUp.object.status.phase, 'Running', 'the processor still lets it be paid');
  t.is(w.timers.get('look'), NOW + 3_665_000);
  w.changed({ state: 'Expired' });
  t.like(w.topUp.object.status, { phase: 'Failed', reason: 'Expired' });
  t.is(w.topUp.object.status.checkoutURL, undefined);
  w.changed(paid());
  w.settle();
  t.like(w.topUp.object.status, { phase: 'Succeeded', creditedUSD: '20.00' });
  t.is(w.balance(), '20');
  t.deepEqual(w.eventNames(), ['topup.failed', 'topup.succeeded']);
});

test('while a bank settles it is pending, and then paid or failed', (t) => {
  const w = openWorld();
  w.create();
  w.opened();
  w.changed({ state: 'Pending' });
  t.like(w.topUp.object.status, { phase: 'Running', reason: 'PaymentPending' });
  t.is(w.topUp.object.status.checkoutURL, undefined);
  w.changed({ state: 'Failed', message: 'the bank refused' });
  t.like(w.topUp.object.status, { phase: 'Failed', reason: 'PaymentFailed' });
  t.is(w.changed({ state: 'Pending' }), 'Ignored');
});

test('what was paid by another amount than was asked for gives no credits', (t) => {
  const w = openWorld();
  w.create();
  w.opened();
  w.changed({ state: 'Mismatch', message: 'the processor says 0.00 USD' });
  w.settle();
  t.like(w.topUp.object.status, { phase: 'Failed', reason: 'PaymentFailed' });
  t.is(w.balance(), '0');
});

test('a processor that is away is asked again until the page would be over', (t) => {
  const w = openWorld();
  w.create();
  const [asked] = w.waiting();
  t.truthy(asked);
  if (asked === undefined) return;
  w.fail(asked);
  t.is(w.timers.get('ask'), NOW + 30_000);
  w.at(NOW + 30_000);
  w.fire('ask');
  t.deepEqual(w.waiting().at(-1), asked, 'under the same key');
  w.tell({ type: 'CheckoutTooLate', attempt: 1 });
  t.like(w.waiting().at(-1), { type: 'OpenCheckout', attempt: 2, expires: NOW + 30_000 + 3_600_000 });
  t.is(w.opened(), 'Ignored', 'the page of the first try');
  w.at(NOW + 2 * 3_600_000);
  w.fire('ask');
  t.like(w.topUp.object.status, { phase: 'Failed', reason: 'PaymentFailed' });
});

test('credits that were paid for are asked for until they are there', (t) => {
  const w = openWorld();
  w.create();
  w.opened();
  w.changed(paid());
  const create = w.waiting().find(({ type }) => type === 'CreateChild');
  w.waiting().length = 0;
  t.truthy(create);
  if (create === undefined) return;
  w.fail(create);
  t.is(w.topUp.object.status.phase, 'Running');
  w.fire('credit');
  w.settle();
  t.is(w.topUp.object.status.phase, 'Succeeded');
  t.is(w.balance(), '20');
  w.fire('credit');
  w.settle();
  t.is(w.balance(), '20');
});

test('a browser is sent to this service and to localhost, and nowhere else', (t) => {
  t.is(openWorld({ successURL: 'https://evil.example/paid' }).create(), 'Refused');
  t.is(openWorld({ cancelURL: 'https://127.0.0.1:9443/' }).create(), 'Refused', 'another port is another page');
  t.is(openWorld({ successURL: 'https://127.0.0.1:8443/console' }).create(), 'Next');
});

test('a dispute pauses new work until it is decided, and one that is lost takes its credits', (t) => {
  const w = openWorld();
  w.create();
  w.opened();
  const dispute = (state: PaymentDispute['state']) => paid({ disputes: [{ id: 'dp_1', amountUSD: '20.00', state }] });
  w.changed(paid());
  w.settle();
  w.changed(dispute('Open'));
  w.settle(true);
  t.true(w.book.disputed);
  t.is(w.balance(), '20', 'nothing is taken before it is decided');
  t.deepEqual(w.wallet.object.status.disputes, ['first']);
  w.changed(dispute('Lost'));
  w.settle(true);
  t.false(w.book.disputed);
  t.is(w.balance(), '0');
  t.is(w.wallet.object.status.disputes, undefined);
  w.changed(dispute('Won'));
  w.settle(true);
  t.is(w.balance(), '20', 'an appeal gives them back');
  t.deepEqual(w.eventNames(), [
    ...['topup.succeeded', 'billing.dispute_opened', 'billing.dispute_closed', 'billing.dispute_closed'],
  ]);
});

const refund = fc.record({
  id: fc.constantFrom('re_1', 're_2', 're_3'),
  amountUSD: fc.constantFrom('5.00', '7.50', '20.00'),
  state: fc.constantFrom<PaymentRefund['state']>('Pending', 'Succeeded', 'Failed'),
});
const disputed = fc.record({
  id: fc.constantFrom('dp_1', 'dp_2'),
  amountUSD: fc.constantFrom('20.00', '10.00'),
  state: fc.constantFrom<PaymentDispute['state']>('Open', 'Won', 'Lost'),
});
const step = fc.oneof(
  fc.record({ type: fc.constant('refund' as const), refund }),
  fc.record({ type: fc.constant('dispute' as const), dispute: disputed }),
  fc.constant({ type: 'told' } as const),
  fc.record({ type: fc.constant('carried' as const), twice: fc.boolean() }),
  fc.constant({ type: 'early' } as const),
);

test('credits = paid − paid back − lost in disputes, in any order of events and messages', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const w = openWorld();
      w.create();
      w.opened();
      const refunds = new Map<string, PaymentRefund>();
      const disputes = new Map<string, PaymentDispute>();
      const told = () => w.changed(paid({ refunds: [...refunds.values()], disputes: [...disputes.values()] }));
      for (const one of steps) {
        if (one.type === 'refund') {
          const amountUSD = refunds.get(one.refund.id)?.amountUSD ?? one.refund.amountUSD;
          refunds.set(one.refund.id, { ...one.refund, amountUSD });
        } else if (one.type === 'dispute') {
          const amountUSD = disputes.get(one.dispute.id)?.amountUSD ?? one.dispute.amountUSD;
          disputes.set(one.dispute.id, { ...one.dispute, amountUSD });
        } else if (one.type === 'told') told();
        else if (one.type === 'early') w.changed({ state: 'Open' });
        else w.settle(one.twice);
      }
      told();
      w.settle(true);
      told();
      w.settle();
      const back = [...refunds.values()].filter(({ state }) => state !== 'Failed');
      const lost = [...disputes.values()].filter(({ state }) => state === 'Lost');
      const claimed = [...back, ...lost].reduce((sum, { amountUSD }) => sum + nano(amountUSD), 0n);
      const left = nano('20') - claimed;
      if (left >= 0n) t.is(nano(w.balance()), left);
      // More is claimed than was bought: it gives back at most that.
      else t.is(nano(w.balance()), 0n);
      t.is(
        w.book.disputed,
        [...disputes.values()].some(({ state }) => state === 'Open'),
      );
      t.is(w.eventNames().filter((name) => name === 'topup.succeeded').length, 1);
    }),
    { numRuns: tries(1_000) },
  );
});

test('the card is kept before it is charged, and each try charges that one, whatever the Wallet has by then', (t) => {
  const w = openWorld({ origin: 'AutoRecharge' });
  const [first, other] = ['pm_1', 'pm_2'].map((method) => ({
    processor: 'Stripe' as const,
    customer: 'cus_1',
    method,
    brand: 'visa',
    last4: '4242',
  }));
  if (first === undefined || other === undefined) return t.fail();
  const expires = NOW + 23 * 3_600_000;
  w.create();
  t.deepEqual(w.waiting().splice(0), [{ type: 'ChargeCard', amountUSD: '20.00', expires }], 'it asks which card');
  w.tell({ type: 'CardChosen', card: first });
  const charge = { type: 'ChargeCard', amountUSD: '20.00', expires, card: first } as const;
  t.deepEqual(w.waiting().splice(0), [charge]);
  t.is(w.tell({ type: 'CardChosen', card: other }), 'Ignored', 'as after a crash in between');
  w.fail(charge);
  w.fire('ask');
  t.deepEqual(w.waiting().splice(0), [charge]);
  w.at(expires + 3_600_000);
  w.fire('ask');
  t.deepEqual(w.waiting().splice(0), [charge], 'the processor is asked until it says whether it was charged');
  t.is(w.topUp.object.status.phase, 'Queued');
  w.tell({ type: 'CardCharged', payment: 'pi_1' });
  t.is(w.tell({ type: 'CardChosen', card: other }), 'Ignored');
  t.like(w.topUp.object.status, { phase: 'Running', paymentIntent: 'pi_1' });
});

test('a recharge that has found no card within its time has failed, since nothing was charged', (t) => {
  const w = openWorld({ origin: 'AutoRecharge' });
  w.create();
  w.at(NOW + 24 * 3_600_000);
  w.fire('ask');
  t.like(w.topUp.object.status, { phase: 'Failed', reason: 'PaymentFailed' });
});
