/**
 * The customers of the crash test of payments: they make TopUps until they know that one is made, switch automatic recharges on and off, and an
 * operator pays back. What fails because the service was killed is asked again, with the same Idempotency-Key.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { listAt, objectOf, path, textAt, valueAt, type Answer, type Client } from '../e2e/client.js';
import type { Chance } from './chance.js';

export const TOPUPS = path('topups', '');
export const WALLET = path('wallet', '');
/** Of an automatic recharge; as many whole ones fit the limit of the month. */
export const RECHARGE_USD = 10;
const AGAIN_MS = 40;
/** Without an answer for so long, a customer gives up. */
const TRIES = 40;

export interface Org {
  readonly id: string;
  readonly bootstrapUSD: number;
  client(): Client;
}

export interface Asked {
  readonly org: string;
  /** Label of the TopUp. */
  readonly ask: string;
  readonly amountUSD: string;
  /** Unknown: the customer gave up. */
  outcome: 'Made' | 'Refused' | 'Unknown';
}

export interface PaidBack {
  readonly uid: string;
  readonly key: string;
  /** Of Stripe's refund; empty: refused, or given up. */
  refund: string;
  known: boolean;
}

export interface Buyers {
  run(stop: AbortSignal): Promise<void>;
  readonly asked: readonly Asked[];
  readonly paidBack: readonly PaidBack[];
  /** Greatest limit of a month that an org has set. */
  limitOf(org: string): number;
  /** Requests that had an answer. */
  done(): number;
  summary(): string;
}

export function openBuyers(orgs: readonly Org[], operator: () => Client, chance: Chance): Buyers {
  const asked: Asked[] = [];
  const paidBack: PaidBack[] = [];
  const limits = new Map<string, number>();
  let done = 0;

  /** Until there is an answer that stands; undefined: given up. */
  async function insist(stop: AbortSignal, ask: () => Promise<Answer>): Promise<Answer | undefined> {
    for (let n = 0; n < TRIES && !stop.aborted; n += 1) {
      const answer = await ask().catch(() => undefined);
      if (answer !== undefined && answer.status < 500) {
        done += 1;
        return answer;
      }
      await delay(AGAIN_MS * Math.min(n + 1, 10));
    }
    return undefined;
  }

  async function buy(org: Org, stop: AbortSignal): Promise<void> {
    const ask = `ask-${asked.length}`;
    const amountUSD = `${5 + chance.below(60)}.${String(chance.below(100)).padStart(2, '0')}`;
    const entry: Asked = { org: org.id, ask, amountUSD, outcome: 'Unknown' };
    asked.push(entry);
    const spec = { amountUSD, ...(chance.is(0.6) && { savePaymentMethod: chance.is(0.9) }) };
    // A name or a key, either of which makes a repeat harmless.
    const keyed = chance.is(0.6);
    const body = keyed
      ? { ...objectOf('TopUp', '', spec), metadata: { generateName: 'buy-', labels: { ask } } }
      : objectOf('TopUp', ask, spec, { labels: { ask } });
    const headers = keyed ? { 'idempotency-key': ask } : undefined;
    const answer = await insist(stop, () => org.client().post(TOPUPS, body, headers));
    if (answer === undefined) return;
    // An earlier try has made the one of this name.
    if (answer.status === 201 || (answer.status === 409 && !keyed)) entry.outcome = 'Made';
    else if (answer.status !== 409) entry.outcome = 'Refused';
  }

  async function recharge(org: Org, stop: AbortSignal): Promise<void> {
    const more = RECHARGE_USD * (1 + chance.below(2));
    const limit = (limits.get(org.id) ?? 0) + more;
    limits.set(org.id, limit);
    const enabled = chance.is(0.85);
    const autoRecharge = {
      ...{ enabled, belowUSD: '100000.00', amountUSD: `${RECHARGE_USD}.00`, monthlyLimitUSD: `${limit}.00` },
    };
    const answer = await insist(stop, () => org.client().merge(WALLET, { autoRecharge }));
    if (answer !== undefined && answer.status !== 200) limits.set(org.id, limit - more);
  }

  async function payBack(org: Org, stop: AbortSignal): Promise<void> {
    const { body } = await org.client().get(TOPUPS);
    const paid = listAt(body, 'items').filter((item) => textAt(item, 'status', 'phase') === 'Succeeded');
    const one = paid[chance.below(paid.length)];
    if (one === undefined) return;
    const uid = textAt(one, 'metadata', 'uid');
    const key = `back-${paidBack.length}`;
    const entry: PaidBack = { uid, key, refund: '', known: false };
    paidBack.push(entry);
    const amount = chance.is(0.4) ? {} : { amountUSD: `${1 + chance.below(8)}.${10 + chance.below(90)}` };
    const at = `/ops/v1/topups/${uid}/refunds`;
    const answer = await insist(stop, () => operator().post(at, amount, { 'idempotency-key': key }));
    entry.refund = textAt(answer?.body, 'refund');
    entry.known = answer !== undefined;
  }

  async function customer(org: Org, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const fate = chance.below(100);
      const act = fate < 60 ? buy : fate < 85 ? recharge : payBack;
      await act(org, stop).catch(() => undefined);
      await delay(AGAIN_MS + chance.below(200));
    }
  }

  return {
    ...{ asked, paidBack },
    limitOf: (org) => limits.get(org) ?? 0,
    done: () => done,
    summary: () =>
      `${asked.filter(({ outcome }) => outcome === 'Made').length} of ${asked.length} TopUps were made, ${limits.size} orgs recharge, ${paidBack.filter(({ refund }) => refund !== '').length} refunds by operators`,
    async run(stop) {
      await Promise.all(orgs.flatMap((org) => [customer(org, stop), customer(org, stop)]));
    },
  };
}

/** All of them. */
export async function topUpsOf(org: Org): Promise<readonly unknown[]> {
  const { body, status, text } = await org.client().get(`${TOPUPS}?limit=500`);
  if (status !== 200 || textAt(valueAt(body, 'metadata'), 'continue') !== '') throw new Error(text);
  return listAt(body, 'items');
}
