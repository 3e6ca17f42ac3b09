/**
 * What follows from refunds and disputes of a payment that was credited. Pure.
 *
 * I7: credits = paid − paid back − lost in disputes, whatever the processor says, in any order, any number of times: each refund and dispute is compared with
 * what was taken for it. A payment gives back at most what it had bought. What comes back is a CreditGrant of its own (source Refund).
 */
import { USD, ZERO, showUSD } from '../../money/usd.js';
import { sha256 } from '../../api/sha256.js';
import type { Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import { WALLET_ADDRESS } from '../wallet/address.js';
import type { PaidPayment } from './payment.js';
import { grantName, wantGrant, type GrantSpec, type Taken, type TopUpPrivate } from './state.js';

export interface Clawbacks {
  readonly taken: TopUpPrivate['taken'];
  readonly disputes: TopUpPrivate['disputes'];
  readonly awaited: TopUpPrivate['awaited'];
  readonly effects: readonly Effect[];
}

/** Something that costs the payment its credits, or no longer does. */
interface Claim {
  readonly id: string;
  readonly amountUSD: string;
  readonly of: 'refund' | 'dispute';
  readonly stands: boolean;
}

interface Purchased {
  readonly org: string;
  readonly uid: string;
  readonly name: string;
  readonly amountUSD: string;
  /** uid of the CreditGrant. */
  readonly grant: string;
}

export function clawBack(
  purchased: Purchased,
  { refunds, disputes }: Pick<PaidPayment, 'refunds' | 'disputes'>,
  before: Pick<TopUpPrivate, 'taken' | 'disputes' | 'awaited'>,
): Clawbacks {
  const effects: Effect[] = [];
  let { taken, awaited } = before;
  const claims: readonly Claim[] = [
    ...refunds.map(
      ({ id, amountUSD, state }) => ({ id, amountUSD, of: 'refund', stands: state !== 'Failed' }) as const,
    ),
    ...disputes.map(
      ({ id, amountUSD, state }) => ({ id, amountUSD, of: 'dispute', stands: state === 'Lost' }) as const,
    ),
  ];
  // What comes back first: it makes room for what is taken.
  for (const claim of claims.filter(({ stands }) => !stands)) {
    const was = taken[claim.id];
    if (was === undefined || new USD(was.amountUSD).isZero()) continue;
    taken = { ...taken, [claim.id]: { amountUSD: '0', times: was.times + 1 } };
    const [name, spec] = restored(purchased, claim, was);
    awaited = { ...awaited, [name]: spec };
    effects.push(wantGrant(name, spec));
  }
  for (const claim of claims.filter(({ stands }) => stands)) {
    const { amountUSD: has = '0', times = 0 } = taken[claim.id] ?? {};
    const left = new USD(purchased.amountUSD).minus(takenUSD(taken));
    // What there was no room for before is taken when another claim has fallen.
    const amount = USD.min(left, new USD(claim.amountUSD).minus(has));
    if (amount.lte(0)) continue;
    taken = { ...taken, [claim.id]: { amountUSD: amount.plus(has).toFixed(), times: times + 1 } };
    effects.push(take(purchased, claim, amount, times));
    if (claim.of === 'refund')
      effects.push(emit('topup.refunded', refundMessage(purchased, amount, refundedUSD({ refunds }, taken))));
  }
  const told = disputes.filter(({ id, state }) => before.disputes[id] !== state);
  for (const dispute of told)
    effects.push({
      type: 'Tell',
      to: { org: purchased.org, ...WALLET_ADDRESS },
      message: { type: 'DisputeChanged', topUp: purchased.name, dispute },
    });
  const states = Object.fromEntries(told.map(({ id, state }) => [id, state]));
  return { taken, awaited, disputes: told.length === 0 ? before.disputes : { ...before.disputes, ...states }, effects };
}

/** The event is one row for all refunds of a TopUp, so that the last message has to say what they are together. */
function refundMessage({ amountUSD }: Purchased, amount: USD, all: string): string {
  return `${showUSD(amount)} USD were paid back; together ${showUSD(new USD(all))} of ${amountUSD} USD`;
}

/** Of refunds alone; what a dispute has cost is no refund. */
export function refundedUSD({ refunds }: Pick<PaidPayment, 'refunds'>, taken: TopUpPrivate['taken']): string {
  return refunds.reduce((sum, { id }) => sum.plus(taken[id]?.amountUSD ?? '0'), ZERO).toFixed();
}

function takenUSD(taken: TopUpPrivate['taken']): USD {
  return Object.values(taken).reduce((sum, { amountUSD }) => sum.plus(amountUSD), ZERO);
}

function take({ grant }: Purchased, { id, of }: Claim, amount: USD, times: number): Effect {
  const once = times === 0 ? `${of}/${id}` : `${of}/${id}/${times}`;
  return { type: 'Money', operation: { op: 'Clawback', grant, amountUSD: amount.toFixed(), once } };
}

function restored(
  { uid, name }: Purchased,
  { id, of }: Claim,
  { amountUSD, times }: Taken,
): readonly [name: string, spec: GrantSpec] {
  const why = of === 'refund' ? 'a refund that failed' : 'a dispute that was won in the end';
  return [
    `${grantName(uid)}-${sha256(`${id}/${times}`).slice(0, 12)}`,
    { amountUSD: showUSD(new USD(amountUSD)), source: 'Refund', note: `TopUp ${name}: ${why}` },
  ];
}
