/**
 * What work waits for that money has refused. It is not tried again and again: its owner says what it needs on which counter (`AwaitMoney`), and
 * hears when that is free (`MoneyFreed`). The wait is stored in the slot of the work and said again when the owner is opened, so that
 * nothing depends on the one who was told of it.
 *
 * Work that has run and was stopped waits for more money than there was, not for what others give back: else it would be started again
 * and again for a minute each, and paid for each time.
 */
import { isOfMonth } from '../../money/counters.js';
import type { HoldRefusal } from '../../money/operation.js';
import { USD } from '../../money/usd.js';
import type { LaterEffect } from '../effect.js';

export interface MoneyWait {
  readonly counter: string;
  readonly neededUSD: string;
  /** It was stopped for want of money when this was the limit. Absent: it has not begun. */
  readonly above?: string | undefined;
  /** ms */
  readonly since: number;
  /** What refused it, and its name when it is a Budget. Absent: an earlier version wrote it. */
  readonly by?: HoldRefusal['by'] | undefined;
  readonly name?: string | undefined;
}

/** What waits is tried again after this also when nothing has woken it (ms): a net, should a wake be lost. */
export const UNWOKEN_MS = 10 * 60_000;

/** `before`: it waits already, and was refused once more. `stopped`: it ran until now. */
export function waitAfter(
  shortfall: HoldRefusal,
  before: MoneyWait | undefined,
  { stopped, now }: { readonly stopped: boolean; readonly now: number },
): MoneyWait {
  const { counter, neededUSD, limitUSD, by, name } = shortfall;
  const wasStopped = stopped || before?.above !== undefined;
  return {
    ...{ counter, neededUSD, since: before?.since ?? now, by },
    ...(name !== undefined && { name }),
    ...(wasStopped && { above: limitUSD }),
  };
}

/**
 * What it waits for, in words that stay true for as long as it waits: what is left changes all the time, so no figure of that is in them. The
 * subject is before it.
 */
export function sayWait({ counter, neededUSD, above, by, name = '' }: MoneyWait): string {
  const { of, more, has } = WORDS[by ?? 'Other'];
  const source = by === 'Budget' ? `${of} "${name}"` : of;
  const month = by === 'Budget' && isOfMonth(counter) ? ', or a new month begins,' : '';
  const stopped = above === undefined ? '' : `${more(above)}${month} and `;
  return `waits until ${source} ${stopped}${has} ${neededUSD} USD for it`;
}

interface Words {
  readonly of: string;
  readonly has: string;
  /** What has to happen first for work that was stopped at this limit. */
  more(above: string): string;
}

const raised: Words['more'] = (above) => `is raised above ${above} USD`;

const WORDS: Readonly<Record<HoldRefusal['by'] | 'Other', Words>> = {
  Budget: { of: 'Budget', has: 'has', more: raised },
  Cap: { of: 'maxCostUSD', has: 'leaves', more: raised },
  Wallet: { of: 'the wallet', has: 'has', more: () => 'gets credits' },
  Other: { of: 'what has refused it', has: 'has', more: raised },
};

export function isStopped({ above }: MoneyWait): boolean {
  return above !== undefined;
}

/** One request for each counter and sort: how many wait there, since when, and what the smallest of them needs. */
export function awaitMoney(waits: Iterable<MoneyWait>): readonly LaterEffect[] {
  const groups = new Map<string, Extract<LaterEffect, { type: 'AwaitMoney' }>>();
  for (const wait of waits) {
    const { counter, neededUSD, above, since } = wait;
    const key = `${counter} ${isStopped(wait) ? 'stopped' : ''}`;
    const group = groups.get(key);
    if (group === undefined) {
      const stopped = above === undefined ? {} : { above };
      groups.set(key, { type: 'AwaitMoney', counter, neededUSD, since, ...stopped, count: 1 });
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
