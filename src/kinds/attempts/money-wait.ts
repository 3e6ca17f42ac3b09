/**
 * What work waits for that money has refused. It is not tried again and again: its owner says what it needs on which counter (`AwaitMoney`), and
 * hears when that is free (`MoneyFreed`). The wait is stored in the slot of the work and said again when the owner is opened, so that
 * nothing depends on the one who was told of it.
 *
 * Work that has run and was stopped waits for more money than there was, not for what others give back: else it would be started again
 * and again for a minute each, and paid for each time.
 */
import { USD } from '../../money/usd.js';
import type { HoldRefusal } from '../../money/operation.js';
import type { LaterEffect } from '../effect.js';

export interface MoneyWait {
  readonly counter: string;
  readonly neededUSD: string;
  /** It was stopped for want of money when this was the limit. Absent: it has not begun. */
  readonly above?: string | undefined;
  /** ms */
  readonly since: number;
}

/** What waits is tried again after this also when nothing has woken it (ms): a net, should a wake be lost. */
export const UNWOKEN_MS = 10 * 60_000;

/** `before`: it waits already, and was refused once more. `stopped`: it ran until now. */
export function waitAfter(
  shortfall: HoldRefusal,
  before: MoneyWait | undefined,
  { stopped, now }: { readonly stopped: boolean; readonly now: number },
): MoneyWait {
  const { counter, neededUSD, limitUSD } = shortfall;
  const wasStopped = stopped || before?.above !== undefined;
  return { counter, neededUSD, since: before?.since ?? now, ...(wasStopped && { above: limitUSD }) };
}

export function isStopped({ above }: MoneyWait): boolean {
  return above !== undefined;
}

/** One request for each counter and sort: how many wait there, since when, and what the smallest of them needs. */
export function awaitMoney(waits: Iterable<MoneyWait>): readonly LaterEffect[] {
  const groups = new Map<string, Extract<LaterEffect, { type: 'AwaitMoney' }>>();
  for (const wait of waits) {
    const key = `${wait.counter} ${isStopped(wait) ? 'stopped' : ''}`;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { type: 'AwaitMoney', ...wait, count: 1 });
      continue;
    }
    groups.set(key, {
      ...group,
      neededUSD: least(group.neededUSD, wait.neededUSD),
      above: group.above && wait.above && least(group.above, wait.above),
      since: Math.min(group.since, wait.since),
      count: group.count + 1,
    });
  }
  return [...groups.values()];
}

function least(a: string, b: string): string {
  return new USD(a).lte(b) ? a : b;
}
