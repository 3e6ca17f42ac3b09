/**
 * Finds the purchases that events are about. Disputes, and refunds that were made by hand, name only their payment; whose that is is asked of
 * Stripe once and kept, since the metadata that say it are written when the payment is made and never change.
 * I10: KEPT payments are remembered, the least recently used go and are asked for again; AT_ONCE are asked for at a time.
 */
import { LRUCache } from 'lru-cache';
import type { Purchase } from '../../../kinds/topup/payment.js';
import type { Unreachable } from '../processor.js';
import type { Ask } from './client.js';
import type { EventSubject } from './event.js';
import { ownerOf, type Owner } from './purchase.js';

const KEPT = 1_000;
const AT_ONCE = 4;

export interface Owners {
  /** Each purchase once, in the order of the subjects. */
  find(
    ask: Ask,
    subjects: readonly EventSubject[],
  ): Promise<{ readonly outcome: 'Found'; readonly purchases: readonly Purchase[] } | Unreachable>;
}

export function openOwners(deployment: string): Owners {
  const known = new LRUCache<string, Owner>({ max: KEPT });

  async function look(ask: Ask, intent: string): Promise<Owner | Unreachable> {
    const asked = await ask((stripe) => stripe.paymentIntents.retrieve(intent));
    switch (asked.outcome) {
      case 'Unreachable':
        return asked;
      case 'Rejected':
        return asked.status === 404
          ? { type: 'Foreign' }
          : { outcome: 'Unreachable', message: `Stripe refuses to show a payment (${asked.message})` };
      case 'Answered': {
        if (asked.value.object !== 'payment_intent')
          return { outcome: 'Unreachable', message: "Stripe's answer is no payment_intent" };
        const owner = ownerOf(asked.value.metadata, deployment);
        known.set(intent, owner);
        return owner;
      }
    }
  }

  return {
    async find(ask, subjects) {
      const intents = new Set(subjects.flatMap((subject) => (subject.type === 'Payment' ? [subject.intent] : [])));
      const owners = new Map<string, Owner>();
      const missing: string[] = [];
      for (const intent of intents) {
        const owner = known.get(intent);
        if (owner === undefined) missing.push(intent);
        else owners.set(intent, owner);
      }
      for (let from = 0; from < missing.length; from += AT_ONCE) {
        const some = missing.slice(from, from + AT_ONCE);
        const looked = await Promise.all(some.map((intent) => look(ask, intent)));
        for (const [index, owner] of looked.entries()) {
          if ('outcome' in owner) return owner;
          owners.set(some[index] ?? '', owner);
        }
      }
      const found = new Map<string, Purchase>();
      for (const subject of subjects) {
        const owner = subject.type === 'Payment' ? owners.get(subject.intent) : subject;
        if (owner?.type === 'Ours') found.set(`${owner.purchase.org}/${owner.purchase.uid}`, owner.purchase);
      }
      return { outcome: 'Found', purchases: [...found.values()] };
    },
  };
}
