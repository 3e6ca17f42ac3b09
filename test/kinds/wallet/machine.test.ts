/** The life of a Wallet: notices once per crossing, purchases one at a time within the month's limit, and none after a failure. */
import test from 'ava';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { WalletSpec } from '../../../src/kinds/wallet/schema.js';
import { NOW, openWorld } from '../topup/world.js';

const CARD = { processor: 'Stripe', customer: 'cus_1', method: 'pm_1', brand: 'visa', last4: '4242' } as const;
const RECHARGE = { enabled: true, belowUSD: '5.00', amountUSD: '20.00', monthlyLimitUSD: '50.00' };
const MONTH_END = Date.UTC(2026, 11, 1);

function openWallet(spec: WalletSpec = {}) {
  const w = openWorld();
  const patch = (changed: WalletSpec): string => {
    const before = w.wallet.object;
    w.wallet.object = { ...before, spec: changed };
    const outcome = w.toWallet({ type: 'Updated', before } as unknown as Message);
    if (outcome === 'Refused') w.wallet.object = before;
    return outcome;
  };
  const has = (availableUSD: string, arrearsUSD = '0.00'): string =>
    w.toWallet(w.received({ type: 'BalanceChanged', availableUSD, arrearsUSD }));
  const purchases = () =>
    w
      .waiting()
      .filter((effect): effect is Extract<LaterEffect, { type: 'CreateChild' }> => effect.type === 'CreateChild');
  const ended = (phase: 'Succeeded' | 'Failed'): string =>
    w.toWallet(
      w.received(
        { type: 'ChildChanged', uid: 'topup', phase, reason: '', message: '', generation: 1 },
        { kind: 'TopUp', name: purchases().at(-1)?.name ?? '', uid: 'topup' },
      ),
    );
  const save = () => w.toWallet(w.received({ type: 'CardSaved', card: CARD }));
  w.wallet.object = { ...w.wallet.object, spec };
  return { ...w, patch, has, purchases, ended, save };
}

test('a low balance is one event each time that it falls below the level', (t) => {
  const w = openWallet({ warnBelowUSD: '10.00' });
  t.is(w.has('50.00'), 'Ignored', 'nothing is crossed, so it costs no commit');
  w.has('9.99');
  t.is(w.has('3.00'), 'Ignored');
  w.has('10.00');
  w.has('9.00');
  t.deepEqual(w.eventNames(), ['billing.low_balance', 'billing.low_balance']);
});

test('arrears are one event until they are paid', (t) => {
  const w = openWallet();
  w.has('0.00', '1.50');
  t.is(w.has('0.00', '2.50'), 'Ignored');
  t.true(w.wallet.object.status.owing);
  w.has('5.00');
  t.false(w.wallet.object.status.owing);
  t.deepEqual(w.eventNames(), ['billing.arrears_posted']);
  t.regex(w.events[0]?.message ?? '', /1\.50 USD are owed/);
});

test('credits are bought by themselves only with a saved card, one purchase at a time', (t) => {
  const w = openWallet();
  t.is(w.patch({ autoRecharge: RECHARGE }), 'Refused');
  w.save();
  t.deepEqual(w.wallet.object.status.card, { brand: 'visa', last4: '4242', processor: 'Stripe' });
  t.is(w.patch({ autoRecharge: RECHARGE }), 'Next');
  w.has('4.99');
  t.like(w.purchases(), [{ kind: 'TopUp', spec: { amountUSD: '20.00', origin: 'AutoRecharge' } }]);
  w.has('1.00');
  w.save();
  t.is(w.purchases().length, 1);
  t.like(w.wallet.object.status.recharge, { month: '2026-11', usedUSD: '20.00' });
  w.ended('Succeeded');
  t.deepEqual(w.eventNames(), ['billing.auto_recharge_succeeded']);
  w.has('21.00');
  t.is(w.purchases().length, 1);
  w.has('2.00');
  t.is(w.purchases().length, 2);
});

test("the month's limit is one event, and the next month buys again", (t) => {
  const w = openWallet({ autoRecharge: RECHARGE });
  w.save();
  for (let n = 0; n < 2; n++) {
    w.has('1.00');
    w.ended('Succeeded');
  }
  w.has('1.00');
  w.has('9.00');
  w.has('1.00');
  t.is(w.purchases().length, 2, '60 USD would pass the limit of 50');
  t.deepEqual(w.eventNames().slice(2), ['billing.auto_recharge_failed']);
  t.is(w.timers.get('next-month'), MONTH_END);
  w.at(MONTH_END + 1);
  w.toWallet({ type: 'TimerFired', timer: 'next-month', generation: 1 });
  t.is(w.purchases().length, 3);
  t.like(w.wallet.object.status.recharge, { month: '2026-12', usedUSD: '20.00' });
});

test('after a failure nothing is bought until the wallet is changed or another card is saved', (t) => {
  const w = openWallet({ autoRecharge: RECHARGE });
  w.save();
  w.has('1.00');
  w.ended('Failed');
  t.like(w.wallet.object.status.recharge, { usedUSD: '0.00' });
  t.truthy(w.wallet.object.status.recharge?.stopped);
  w.has('9.00');
  w.has('1.00');
  t.is(w.purchases().length, 1);
  w.save();
  t.is(w.purchases().length, 2);
  const [, second] = w.purchases();
  if (second === undefined) return;
  w.toWallet({ type: 'EffectFailed', effect: second, reason: 'QuotaExceeded', message: 'the org is full' });
  t.regex(w.events.at(-1)?.message ?? '', /the org is full/);
  w.patch({ autoRecharge: { ...RECHARGE, belowUSD: '0.50' } });
  w.has('1.00');
  t.is(w.purchases().length, 2, 'it is not below the level of now');
  w.patch({ autoRecharge: { ...RECHARGE, amountUSD: '10.00' } });
  w.has('1.00');
  t.is(w.purchases().length, 3);
  t.deepEqual(w.eventNames(), ['billing.auto_recharge_failed', 'billing.auto_recharge_failed']);
});

test('a purchase that could not be made is tried again each hour under its name, with one event, until it is made', (t) => {
  const w = openWallet({ autoRecharge: RECHARGE });
  w.save();
  w.has('1.00');
  for (const hour of [1, 2, 3]) {
    const made = w.purchases();
    t.is(made.length, hour);
    t.is(made.at(-1)?.name, made[0]?.name, 'one that was made after all is found again');
    const effect = made.at(-1);
    if (effect === undefined) return t.fail();
    w.toWallet({ type: 'EffectFailed', effect, reason: 'Refused', message: '10000.00 USD a day' });
    t.like(w.wallet.object.status.recharge, { usedUSD: '0.00', stopped: '10000.00 USD a day', topUp: undefined });
    w.has('9.00');
    w.has('1.00');
    t.is(w.purchases().length, hour, 'not before its time');
    w.at(w.timers.get('try-again') ?? 0);
    w.toWallet({ type: 'TimerFired', timer: 'try-again', generation: hour });
  }
  t.is(w.wallet.object.status.recharge?.stopped, undefined);
  w.ended('Succeeded');
  t.deepEqual(w.eventNames(), ['billing.auto_recharge_failed', 'billing.auto_recharge_succeeded']);
  w.has('9.00');
  w.has('1.00');
  t.not(w.purchases().at(-1)?.name, w.purchases()[0]?.name);
});

test('new work is paused until the last of several disputes is decided', (t) => {
  const w = openWallet();
  const dispute = (topUp: string, id: string, state: 'Open' | 'Won' | 'Lost') =>
    w.toWallet(w.received({ type: 'DisputeChanged', topUp, dispute: { id, amountUSD: '20.00', state } }));
  dispute('a', 'dp_1', 'Open');
  dispute('b', 'dp_2', 'Open');
  t.is(dispute('b', 'dp_2', 'Open'), 'Ignored');
  t.deepEqual(w.wallet.object.status.disputes, ['a', 'b']);
  dispute('a', 'dp_1', 'Won');
  t.true(w.book.disputed);
  dispute('b', 'dp_2', 'Lost');
  t.false(w.book.disputed);
});

test('full storage is one event an hour, however many uploads are refused', (t) => {
  const w = openWallet();
  const full = () => w.toWallet(w.received({ type: 'StorageFull', quotaBytes: 1_000 }));
  t.is(full(), 'Next');
  t.is(full(), 'Ignored');
  w.at(NOW + 3_600_000);
  t.is(full(), 'Next');
  t.deepEqual(w.eventNames(), ['billing.storage_quota_exceeded', 'billing.storage_quota_exceeded']);
});
