/**
 * What payers, banks and Stripe do in the crash test of payments, on the local Stripe server: one thing at each step, by chance. `finish` decides
 * everything that is still open, so that each payment has an end.
 */
import { need, type Dispute, type Intent } from '../payments/support/stripe-account.js';
import { decline } from '../payments/support/stripe-payer.js';
import type { StripeServer } from '../payments/support/stripe-server.js';
import type { Chance } from './chance.js';

/** Of a page: paid by card, by bank, a card is declined, it expires; below 100. */
const AT_PAGE = [55, 80, 88, 100] as const;

export interface Payers {
  /** One thing, if there is one to do. */
  step(): void;
  /** Whatever is open is decided now. True: nothing was open. */
  finish(): boolean;
  summary(): string;
}

export function openPayers(server: StripeServer, chance: Chance): Payers {
  const { sessions, intents, charges, refunds, disputes, methods } = server.account;
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const pick = <T>(from: readonly T[]): T | undefined => from[chance.below(from.length)];

  const openPages = (): string[] => [...sessions.values()].flatMap(({ id, status }) => (status === 'open' ? [id] : []));
  const settling = (): Intent[] => [...intents.values()].filter(({ status }) => status === 'processing');
  const waiting = (): Intent[] => [...intents.values()].filter(({ status }) => status === 'requires_action');
  const openDisputes = (): Dispute[] => [...disputes.values()].filter(({ status }) => status === 'needs_response');
  const isDisputed = (intent: string): boolean =>
    [...disputes.values()].some((dispute) => dispute.payment_intent === intent && dispute.status !== 'won');

  function atPage(page: string, mayWait: boolean): void {
    const fate = chance.below(100);
    const way = AT_PAGE.findIndex((below) => fate < below);
    if (way === 2 && mayWait) server.declines(page);
    else if (way === 1) server.pay(page, 'bank');
    else if (way === 3) server.expire(page);
    else server.pay(page, 'card');
    count(['paid by card', 'paid by bank', 'declined', 'expired'][way === 2 && !mayWait ? 0 : way] ?? '');
  }

  /** Of a page or of a saved card. */
  function decide(intent: Intent): void {
    const page = [...sessions.values()].find(({ payment_intent: id }) => id === intent.id)?.id;
    const pays = chance.is(0.7);
    count(pays ? 'settled' : 'not settled');
    if (page === undefined) {
      if (pays) server.confirms(intent.id);
      else decline(server.account, intent);
    } else if (pays) server.bankSettles(page);
    else server.bankFails(page);
  }

  function payBack(intent: Intent): void {
    if (chance.is(0.6)) return;
    const { amount, amount_refunded: back } = need(charges, intent.latest_charge);
    const left = amount - back;
    if (left === 0 || (isDisputed(intent.id) && chance.is(0.8))) return;
    server.refundByHand(intent.id, chance.is(0.3) ? left : 1 + chance.below(left));
    count('paid back by hand');
  }

  function openDispute(intent: Intent): void {
    if (isDisputed(intent.id) || chance.is(0.5)) return;
    const { amount, amount_refunded: back } = need(charges, intent.latest_charge);
    // A bank may take back the whole payment although a part was paid back.
    const disputed = chance.is(0.2) ? amount : amount - back;
    if (disputed === 0) return;
    server.dispute(intent.id, 'needs_response', disputed);
    count('disputed');
  }

  function rule({ id, status }: Dispute): void {
    if (status === 'lost') {
      if (chance.is(0.7)) return;
      server.setDispute(id, 'won');
      return count('won after lost');
    }
    const verdict = chance.is(0.4) ? 'won' : 'lost';
    server.setDispute(id, verdict);
    count(verdict);
  }

  const STEPS: readonly (() => void)[] = [
    ...Array.from({ length: 4 }, () => () => on(pick(openPages()), (page) => atPage(page, true))),
    () => on(pick(settling()), decide),
    () => on(pick(waiting()), ({ id }) => (server.confirms(id), count('confirmed by the holder'))),
    () => on(pick(paid()), payBack),
    () => on(pick(paid()), openDispute),
    () => on(pick([...disputes.values()].filter(({ status }) => status !== 'won')), rule),
    () =>
      on(pick([...refunds.values()].filter(({ status }) => status !== 'failed')), ({ id }) => {
        if (chance.is(0.8)) return;
        server.refundFails(id);
        count('refund failed');
      }),
    () => on(pick([...methods.values()]), (method) => (method.away = AWAY[chance.below(AWAY.length)] ?? 'Pays')),
  ];
  const paid = (): Intent[] => [...intents.values()].filter(({ status }) => status === 'succeeded');

  return {
    step: () => STEPS[chance.below(STEPS.length)]?.(),
    finish() {
      for (const method of methods.values()) method.away = 'Pays';
      const before = server.account.events.length;
      for (const page of openPages()) atPage(page, false);
      for (const intent of settling()) decide(intent);
      for (const each of openDisputes()) rule(each);
      return server.account.events.length === before;
    },
    summary: () => [...counts].map(([what, times]) => `${times} ${what}`).join(', '),
  };
}

const AWAY = ['Pays', 'Pays', 'Declines', 'WantsHolder', 'Processes'] as const;

function on<T>(found: T | undefined, act: (found: T) => void): void {
  if (found !== undefined) act(found);
}
