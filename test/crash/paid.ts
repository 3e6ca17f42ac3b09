/**
 * Compares what the service says of payments with what the local Stripe server has: credits = paid − refunded − lost disputes, for each TopUp and
 * each wallet, to the cent. Every function answers what differs, in words; nothing is what is wanted.
 */
import { listAt, path, textAt, valueAt } from '../e2e/client.js';
import type { Dispute, Intent, Refund } from '../payments/support/stripe-account.js';
import type { StripeServer } from '../payments/support/stripe-server.js';
import { RECHARGE_USD, topUpsOf, WALLET, type Buyers, type Org } from './buyers.js';

const EVENTS = path('events', '');

export interface Claims {
  readonly amount: number;
  readonly refunded: number;
  readonly lost: number;
}

/** All in cents. */
function claimsOf({ account }: StripeServer, { id, amount_received: amount }: Intent): Claims {
  const of = <T extends Refund | Dispute>(all: ReadonlyMap<string, T>, stands: (one: T) => boolean): number =>
    [...all.values()]
      .filter((one) => one.payment_intent === id && stands(one))
      .reduce((sum, one) => sum + one.amount, 0);
  return {
    amount,
    refunded: of(account.refunds, ({ status }) => status !== 'failed'),
    lost: of(account.disputes, ({ status }) => status === 'lost'),
  };
}

/** What is left of a payment; it gives back at most what it had bought. */
function left({ amount, refunded, lost }: Claims): number {
  return amount - Math.min(amount, refunded + lost);
}

export interface Seen {
  readonly org: Org;
  readonly topUps: readonly unknown[];
}

export function look(orgs: readonly Org[]): Promise<readonly Seen[]> {
  return Promise.all(orgs.map(async (org) => ({ org, topUps: await topUpsOf(org) })));
}

const uidOf = (topUp: unknown): string => textAt(topUp, 'metadata', 'uid');

/** Payments at Stripe of this TopUp: of its pages, or of the saved card. */
function intentsOf({ account }: StripeServer, uid: string): readonly Intent[] {
  return [...account.intents.values()].filter(({ metadata }) => metadata['uid'] === uid);
}

/** TopUps that say something else than Stripe's objects. */
export function misstated(server: StripeServer, seen: readonly Seen[]): readonly string[] {
  return seen.flatMap(({ org, topUps }) =>
    topUps.flatMap((topUp) => {
      const { said, wanted } = compare(server, topUp);
      return said === wanted ? [] : [`${org.id} ${textAt(topUp, 'metadata', 'name')}: ${said}; wanted: ${wanted}`];
    }),
  );
}

function compare(server: StripeServer, topUp: unknown): { readonly said: string; readonly wanted: string } {
  const [paid] = intentsOf(server, uidOf(topUp)).filter(({ status }) => status === 'succeeded');
  const status = (name: string): string => textAt(topUp, 'status', name);
  const said = `${status('phase')} ${status('paymentIntent')} ${status('creditedUSD')} ${status('refundedUSD') || '0.00'}`;
  if (paid === undefined) {
    // A charge that was declined may be named or not.
    const wanted = `Failed ${status('paymentIntent')}  0.00`;
    return { said, wanted };
  }
  const claims = claimsOf(server, paid);
  const { amount, refunded, lost } = claims;
  const shown = Math.round(Number(status('refundedUSD')) * 100);
  // Where both together are more than was paid, each may have taken the last of it.
  const mayBe =
    refunded + lost <= amount ? shown === refunded : shown >= Math.min(refunded, amount - lost) && shown <= refunded;
  const wantedRefund = mayBe ? status('refundedUSD') || '0.00' : (refunded / 100).toFixed(2);
  return { said, wanted: `Succeeded ${paid.id} ${(amount / 100).toFixed(2)} ${wantedRefund}` };
}

/** Wallets that have more or less than was bought and stands. */
export async function unbalanced(server: StripeServer, orgs: readonly Org[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const org of orgs) {
    const credits = [...server.account.intents.values()]
      .filter(({ status, metadata }) => status === 'succeeded' && metadata['org'] === org.id)
      .reduce((sum, intent) => sum + left(claimsOf(server, intent)), 0);
    const wanted = (org.bootstrapUSD + credits / 100).toFixed(2);
    const { body } = await org.client().get(WALLET);
    const balance = textAt(body, 'balanceUSD');
    if (Number(balance) !== Number(wanted)) found.push(`${org.id} has ${balance} USD and should have ${wanted} USD`);
    const disputes = listAt(body, 'disputes');
    if (disputes.length > 0) found.push(`${org.id} is paused by disputes that are decided: ${disputes.join(', ')}`);
  }
  return found;
}

/** What came twice, or not at all. */
export function repeated(server: StripeServer, seen: readonly Seen[], buyers: Buyers): readonly string[] {
  const found: string[] = [];
  const all = seen.flatMap(({ org, topUps }) => topUps.map((topUp) => ({ org, topUp })));
  const uids = new Set(all.map(({ topUp }) => uidOf(topUp)));
  const sessions = [...server.account.sessions.values()];
  for (const { id, client_reference_id: uid = '' } of sessions) if (!uids.has(uid)) found.push(`${id} is of no TopUp`);
  for (const { topUp } of all) {
    const uid = uidOf(topUp);
    const name = textAt(topUp, 'metadata', 'name');
    const pages = sessions.filter((session) => session.client_reference_id === uid).length;
    const intents = intentsOf(server, uid).length;
    const isCharge = textAt(topUp, 'spec', 'origin') === 'AutoRecharge';
    if (pages !== (isCharge ? 0 : 1)) found.push(`${name} has ${pages} pages`);
    if (intents > 1) found.push(`${name} has ${intents} payments`);
    const made = [...server.account.refunds.values()].filter(({ metadata }) => metadata['uid'] === uid);
    const asked = buyers.paidBack.filter((each) => each.uid === uid);
    if (made.length > asked.length)
      found.push(`${name} was paid back ${made.length} times for ${asked.length} requests`);
    for (const { key, refund } of asked)
      if (refund !== '' && !made.some(({ id }) => id === refund))
        found.push(`${key} says ${refund}, which is not there`);
  }
  for (const { org, ask, outcome } of buyers.asked) {
    const made = all.filter(
      (one) => one.org.id === org && textAt(one.topUp, 'metadata', 'labels', 'ask') === ask,
    ).length;
    const isRight = outcome === 'Unknown' ? made <= 1 : made === (outcome === 'Made' ? 1 : 0);
    if (!isRight) found.push(`${org} has ${made} TopUps of ${ask}, which was ${outcome}`);
  }
  for (const { org, topUps } of seen) {
    const bought = topUps.filter(
      (topUp) => textAt(topUp, 'spec', 'origin') === 'AutoRecharge' && textAt(topUp, 'status', 'phase') !== 'Failed',
    ).length;
    if (bought * RECHARGE_USD > buyers.limitOf(org.id))
      found.push(`${org.id} has recharged ${bought} times, and its limit is ${buyers.limitOf(org.id)} USD`);
  }
  return found;
}

/** TopUps whose event of being paid was not raised exactly once. */
export async function mistold(seen: readonly Seen[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { org, topUps } of seen) {
    const told = new Map<string, number>();
    let after = '';
    do {
      const query = `?type=topup.succeeded&limit=500${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`;
      const { body } = await org.client().get(`${EVENTS}${query}`);
      for (const event of listAt(body, 'items')) {
        const uid = textAt(event, 'object', 'uid');
        told.set(uid, (told.get(uid) ?? 0) + Number(valueAt(event, 'count')));
      }
      const next = textAt(body, 'continue');
      after = listAt(body, 'items').length === 0 ? '' : next;
    } while (after !== '');
    for (const topUp of topUps) {
      const wanted = textAt(topUp, 'status', 'phase') === 'Succeeded' ? 1 : 0;
      const times = told.get(uidOf(topUp)) ?? 0;
      if (times !== wanted) found.push(`${org.id} ${textAt(topUp, 'metadata', 'name')}: ${times} events`);
      told.delete(uidOf(topUp));
    }
    for (const uid of told.keys()) found.push(`${org.id}: an event of ${uid}, which is no TopUp`);
  }
  return found;
}
