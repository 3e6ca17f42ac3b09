/** How much a block holds ahead of what is claimed: about a second of recent spend, so that most requests need not wait for the ledger. Pure. */
import { parseCounter } from '../../../src/money/counters.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { USD, ZERO } from '../../../src/money/usd.js';
import type { Account, Block } from './state.js';

/** Time in which recent spend fades (ms). */
const FADES_IN = 2_000;
/** The money held ahead is at least so many times the last draw, unless that exceeds the other bound. */
const DRAWS_AHEAD = 16;
const FEW_AHEAD = new USD('0.1');
/** After a refusal nothing is held ahead on its counter for so long (ms). */
export const SHORT_MS = 1_000;
/** What was known for longer of where a block counts may be out of date: a Budget may have been made (ms). */
const STALE_MS = 2_000;
/** More is never held ahead. */
const MOST_AHEAD_PER_SECOND = 1e6;

export function slackOf(block: Block, account: Pick<Account, 'shortUntil'>, now: number): USD {
  if (isShort(block, account, now)) return ZERO;
  const perSecond = Math.min(fadedSpend(block, now), MOST_AHEAD_PER_SECOND);
  return USD.max(
    new USD(BigInt(Math.round(perSecond * 1e9))),
    USD.min(block.lastAmountUSD.times(DRAWS_AHEAD), FEW_AHEAD),
  );
}

function isShort({ shortUntil, counters }: Block, account: Pick<Account, 'shortUntil'>, now: number): boolean {
  return now < shortUntil || (counters === undefined && now < account.shortUntil);
}

export function noteSpend(block: Block, cost: USD, now: number): void {
  block.spendPerSecond = fadedSpend(block, now) + (Number(cost.billionths) / 1e9) * (1_000 / FADES_IN);
  block.spendAt = now;
}

function fadedSpend({ spendPerSecond, spendAt }: Block, now: number): number {
  return spendPerSecond * Math.exp(-(now - spendAt) / FADES_IN);
}

/** Whether what the block holds may count where this refusal comes from. */
export function sharesCounter(block: Block, { by, counter, uid }: HoldRefusal, now: number): boolean {
  switch (by) {
    case 'Wallet':
      return true;
    case 'Cap':
      return block.payer.payer.costs.some((cost) => cost.uid === uid);
    case 'Budget':
      if (block.counters === undefined || now - block.seenAt > STALE_MS) return true;
      return block.counters.some((name) => name === counter || isOfBudget(name, uid));
  }
}

function isOfBudget(counter: string, uid: string | undefined): boolean {
  const name = parseCounter(counter);
  return name.of === 'Budget' && name.uid === uid;
}
