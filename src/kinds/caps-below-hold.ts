/**
 * Refuses an owner of Jobs whose caps leave no room for the first hold of one of them: it would be created, and never run. What holds money
 * itself is refused by its hold (`storage/commit/admit-money.ts`). Pure.
 */
import { MAX_CAUSES } from '../api/causes.js';
import { causeLine } from '../api/errors/cause-line.js';
import type { Cause, Refusal } from '../api/refusal.js';
import { firstAmount } from '../money/hold.js';
import { FREE_BOOK, type PriceBook } from '../money/price-book.js';
import { showUSD, type USD } from '../money/usd.js';
import { admitTerms } from './attempts/terms.js';
import type { PricedWork } from './priced-work.js';

/** `ownCapUSD`: `spec.maxCostUSD` of the owner. */
export function refuseCaps(
  { parts, partsAtOnce }: PricedWork,
  ownCapUSD: string | undefined,
  prices: PriceBook = FREE_BOOK,
  target: NonNullable<Refusal['target']>,
): Refusal | undefined {
  if (partsAtOnce === undefined) return undefined;
  /** Of the parts that are written in one place, the first. */
  const found = new Map<string, Cause>();
  const check = (field: string, capUSD: string | undefined, needed: USD): void => {
    if (capUSD === undefined || needed.lte(capUSD) || found.has(field)) return;
    const message = `must leave at least ${showUSD(needed)} USD for the first hold of a Job, and leaves ${capUSD}`;
    found.set(field, { field, reason: 'FieldValueInvalid', message });
  };
  for (const { at, amounts, cap } of parts) {
    const needed = firstAmount(admitTerms(amounts, prices));
    check('spec.maxCostUSD', ownCapUSD, needed);
    check(`${cap?.at ?? at}.maxCostUSD`, cap?.maxCostUSD, needed);
  }
  const causes = [...found.values()].slice(0, MAX_CAUSES);
  if (causes.length === 0) return undefined;
  return {
    code: 'Invalid',
    message: `${target.kind} "${target.name}" is invalid: ${causes.map(causeLine).join('; ')}`,
    causes,
    fix: 'Raise maxCostUSD, or leave it out: a dry run shows the first hold as status.estimate.holdUSD.',
    target,
  };
}
