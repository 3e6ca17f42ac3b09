/**
 * What carries news of payments to the service in its crash test: webhooks, which come at once, late, twice, out of order or never, and browsers,
 * which come back to the landing page or do not. I10: at most MOST_UNDER_WAY are under way.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { StripeServer, Webhook } from '../payments/support/stripe-server.js';
import type { Chance } from './chance.js';

const LATEST_MS = 3_000;
const MOST_UNDER_WAY = 64;
const ANSWER_MS = 30_000;
const TRIES = 3;

export interface Messengers {
  /** Sends on what has happened since the last call. */
  carry(): void;
  /** Resolves when nothing is under way any more. */
  rest(): Promise<void>;
  /** Webhooks that the service has taken. */
  taken(): number;
  summary(): string;
}

export function openMessengers(
  serviceUrl: string,
  server: StripeServer,
  chance: Chance,
  stop: AbortSignal,
): Messengers {
  const underWay = new Set<Promise<void>>();
  const counts = { webhooks: 0, taken: 0, lost: 0, browsers: 0 };
  // One pause for each that is under way.
  setMaxListeners(MOST_UNDER_WAY * 2, stop);
  const old: Webhook[] = [];
  let requests = 0;

  /** Undefined: there was no answer. */
  async function ask(url: string, init: RequestInit): Promise<number | undefined> {
    try {
      const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });
      await answer.text();
      return answer.status;
    } catch {
      return undefined;
    }
  }

  function send(later: number, run: () => Promise<void>): void {
    if (underWay.size >= MOST_UNDER_WAY) return;
    const sent = delay(later, undefined, { signal: stop })
      .then(run)
      .catch(() => undefined);
    underWay.add(sent);
    void sent.finally(() => underWay.delete(sent));
  }

  function deliver(webhook: Webhook, later: number, again: boolean): void {
    send(later, async () => {
      for (let n = 0; n < (again ? TRIES : 1); n += 1) {
        counts.webhooks += 1;
        const { body } = webhook;
        const headers = { 'content-type': 'application/json', 'stripe-signature': server.sign(body) };
        const status = await ask(`${serviceUrl}/payments/stripe`, { method: 'POST', body: body.toString(), headers });
        if (status === 200) return void (counts.taken += 1);
        await delay(100 * 2 ** n, undefined, { signal: stop });
      }
    });
  }

  function takeWebhook(webhook: Webhook): void {
    old.push(webhook);
    const fate = chance.below(100);
    if (fate < 25) return void (counts.lost += 1);
    const again = chance.is(0.5);
    deliver(webhook, fate < 60 ? 0 : chance.below(LATEST_MS), again);
    if (fate > 80) deliver(webhook, chance.below(LATEST_MS), again);
  }

  /** The addresses of pages are in the requests that asked for them. */
  function takeBrowsers(): void {
    const fresh = server.seen.slice(requests);
    requests = server.seen.length;
    for (const { method, path, body } of fresh) {
      if (method !== 'POST' || !path.startsWith('/v1/checkout/sessions') || chance.is(0.4)) continue;
      const params = new URLSearchParams(body);
      const url = params.get(chance.is(0.8) ? 'success_url' : 'cancel_url') ?? '';
      for (let n = chance.below(3); n >= 0; n -= 1)
        send(chance.below(LATEST_MS), async () => {
          counts.browsers += 1;
          await ask(url, { redirect: 'manual' });
        });
    }
  }

  return {
    carry() {
      for (const webhook of server.webhooks()) takeWebhook(webhook);
      const [repeated] = chance.is(0.02) ? old.slice(chance.below(old.length)) : [];
      if (repeated !== undefined) deliver(repeated, 0, false);
      takeBrowsers();
    },
    async rest() {
      await Promise.all(underWay);
    },
    taken: () => counts.taken,
    summary: () =>
      `${counts.webhooks} webhooks were sent, ${counts.taken} taken, ${counts.lost} never sent; ${counts.browsers} browsers`,
  };
}
