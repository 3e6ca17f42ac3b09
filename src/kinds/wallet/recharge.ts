/**
 * When a Wallet buys credits by itself: the balance is below the level, a card is saved, nothing is being bought, the month's limit has room,
 * and the last purchase did not fail. One that could not be made is tried again after an hour. Pure.
 */
import { monthOf, periodEnd } from '../../money/counters.js';
import { showUSD, USD } from '../../money/usd.js';
import type { Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { WalletSpec } from './schema.js';
import type { WalletPrivate } from './state.js';

export const NEXT_MONTH = 'next-month';
export const TRY_AGAIN = 'try-again';
const TRY_AGAIN_MS = 3_600_000;

export interface RechargeStep {
  readonly private: WalletPrivate;
  readonly effects: readonly Effect[];
}

/** `chance`: makes the name of the purchase its own. */
export function recharge(spec: WalletSpec, kept: WalletPrivate, now: number, chance: () => string): RechargeStep {
  const { enabled = false, amountUSD, monthlyLimitUSD } = spec.autoRecharge ?? {};
  // A holder who disputes a payment would dispute the next one.
  const isDisputed = Object.values(kept.disputes).some(({ state }) => state === 'Open');
  const isWanted =
    enabled && !isDisputed && kept.belowRecharge && kept.card !== undefined && kept.stopped === undefined;
  const waits = kept.refused !== undefined && now < kept.refused.until;
  if (!isWanted || waits || kept.open !== undefined || amountUSD === undefined || monthlyLimitUSD === undefined)
    return { private: kept, effects: [] };
  const month = monthOf(now);
  const used = new USD(kept.month?.month === month ? kept.month.usedUSD : '0');
  const after = used.plus(amountUSD);
  if (after.gt(monthlyLimitUSD)) return limitReached(kept, month, used, monthlyLimitUSD, now);
  // With its name: should it have been made after all, it is that one.
  const name = kept.refused?.name ?? `recharge-${month}-${chance()}`;
  return {
    private: {
      ...{ ...kept, limitReached: undefined },
      ...{ month: { month, usedUSD: after.toFixed() }, open: { name, month, amountUSD } },
    },
    effects: [{ type: 'CreateChild', kind: 'TopUp', name, spec: { amountUSD, origin: 'AutoRecharge' } }],
  };
}

/** One event a month. */
function limitReached(kept: WalletPrivate, month: string, used: USD, limitUSD: string, now: number): RechargeStep {
  if (kept.limitTold === month) return { private: kept, effects: [] };
  const message = `${showUSD(used)} USD were bought in ${month}, and one more purchase would pass autoRecharge.monthlyLimitUSD, ${limitUSD} USD`;
  return {
    private: { ...kept, limitTold: month, limitReached: message },
    effects: [
      emit('billing.auto_recharge_failed', message),
      { type: 'ArmTimer', timer: NEXT_MONTH, at: periodEnd(now) },
    ],
  };
}

/** The purchase has ended. `failure`: why it did not work. */
export function recharged(kept: WalletPrivate, failure: string | undefined): RechargeStep {
  const { open } = kept;
  if (open === undefined) return { private: kept, effects: [] };
  const { open: _, refused: __, ...rest } = kept;
  if (failure === undefined)
    return {
      private: rest,
      effects: [emit('billing.auto_recharge_succeeded', `TopUp "${open.name}" has added ${open.amountUSD} USD`)],
    };
  return {
    private: { ...rest, month: monthWithout(kept, open), stopped: `TopUp "${open.name}": ${failure}` },
    effects: [
      emit(
        'billing.auto_recharge_failed',
        `TopUp "${open.name}" of ${open.amountUSD} USD: ${failure}. Nothing more is bought until the wallet is changed or another card is saved`,
      ),
    ],
  };
}

/** The purchase was not made, so nothing was charged. One event, until one is made or the wallet is changed. */
export function notMade(kept: WalletPrivate, message: string, now: number): RechargeStep {
  const { open, ...rest } = kept;
  if (open === undefined) return { private: kept, effects: [] };
  const until = now + TRY_AGAIN_MS;
  const effects: Effect[] = [{ type: 'ArmTimer', timer: TRY_AGAIN, at: until }];
  if (kept.refused === undefined)
    effects.push(
      emit(
        'billing.auto_recharge_failed',
        `a TopUp of ${open.amountUSD} USD was not made: ${message}. It is tried again each hour`,
      ),
    );
  return {
    private: { ...rest, month: monthWithout(kept, open), refused: { name: open.name, message, until } },
    effects,
  };
}

function monthWithout({ month }: WalletPrivate, open: NonNullable<WalletPrivate['open']>): WalletPrivate['month'] {
  if (month?.month !== open.month) return month;
  return { ...month, usedUSD: USD.max(0, new USD(month.usedUSD).minus(open.amountUSD)).toFixed() };
}
