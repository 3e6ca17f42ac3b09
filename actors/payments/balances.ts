/**
 * Tells the Wallets of orgs that pay in advance what they have left (`BalanceChanged`): once a second those whose figures are others than this
 * process told last, and those that have asked (`AskBalance`). A Wallet makes a commit of it only when something is crossed. I10: PAGE orgs a
 * statement; MOST_KNOWN orgs whose last message is known, the Wallets of others get it again.
 */
import { LRUCache } from 'lru-cache';
import { showUSD, USD } from '../../src/money/usd.js';
import { WALLET_ADDRESS } from '../../src/kinds/wallet/address.js';
import type { ReadBalances, WalletBalance } from '../../storage/payments/wallet-balances.js';
import type { MessageRouter } from '../message-router.js';
import { tick } from '../money/ticker.js';
import { atMost } from '../../src/lru-bound.js';

const EVERY_MS = 1_000;
const PAGE = 500;
const MOST_KNOWN = 50_000;

export interface BalanceDeps {
  readonly balances: ReadBalances;
  readonly deliver: MessageRouter['deliver'];
  onProblem(message: string): void;
}

export interface Balances {
  /** The Wallet of this org gets its balance with the next round, whatever it knows. */
  ask(org: string): void;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

export function openBalances({ balances, deliver, onProblem }: BalanceDeps): Balances {
  /** Figures by org. */
  const told = new LRUCache<string, string>(atMost(MOST_KNOWN));

  async function tell({ org, availableUSD, balanceUSD }: WalletBalance): Promise<void> {
    const figures = `${availableUSD} ${balanceUSD}`;
    if (told.get(org) === figures) return;
    const to = { org, ...WALLET_ADDRESS };
    const content = {
      type: 'BalanceChanged',
      availableUSD: showUSD(USD.max(0, new USD(availableUSD))),
      arrearsUSD: showUSD(USD.max(0, new USD(balanceUSD).negated())),
    } as const;
    const from = { address: to, uid: '', version: 0 };
    const delivery = await deliver(to, undefined, { type: 'MessageReceived', from, content });
    if (delivery === 'Done') told.set(org, figures);
  }

  async function round(): Promise<void> {
    for (let after = ''; ;) {
      const page = await balances(after, PAGE);
      await Promise.all(page.map(tell));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.org;
    }
  }

  return {
    ask: (org) => void told.delete(org),
    run: (stopping) => tick({ every: EVERY_MS, round, onProblem }, stopping),
  };
}
