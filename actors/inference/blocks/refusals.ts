/** How a request is refused that finds no money, or whose money cannot be asked for. */
import { refuse, RefusalError } from '../../../src/api/refusal.js';
import { MAX_COST_REACHED } from '../../../src/kinds/attempts/holds.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { showUSD, USD } from '../../../src/money/usd.js';
import { refusalOfHold } from '../../resource/commit-refusals.js';
import type { BlockPayer } from '../blocks.js';

/** `roomUSD`: the money that is left for the request. The refusal tells clients not to try again: the answer stays the same until the end of the month. */
export function noMoney({ owner, payer }: BlockPayer, by: HoldRefusal, amountUSD: USD, roomUSD: USD): RefusalError {
  const [availableUSD, neededUSD] = [showUSD(USD.max(0, roomUSD)), showUSD(amountUSD)];
  const target = { kind: owner.kind, name: owner.name };
  if (by.by !== 'Cap') {
    const refusal = refusalOfHold({ ...by, availableUSD, neededUSD }, { uid: undefined, target });
    return new RefusalError({ ...refusal, retryAfterSeconds: 'Never' });
  }
  const capped = payer.costs.find(({ uid }) => uid === by.uid) ?? owner;
  const short = `${availableUSD} USD are left and the request may cost ${neededUSD} USD`;
  return new RefusalError({
    code: 'BudgetExceeded',
    message: `spec.maxCostUSD of ${capped.kind} "${capped.name}" refuses the request: ${short}`,
    causes: [{ field: 'spec.maxCostUSD', reason: MAX_COST_REACHED, message: short }],
    fix: `Raise spec.maxCostUSD of ${capped.kind} "${capped.name}", or ask for fewer output tokens.`,
    retryAfterSeconds: 'Never',
    target,
  });
}

/** Nothing was refused: it is not known whether there is money. */
export function notNow(why: string): RefusalError {
  return refuse('Unavailable', `the money of the request cannot be set aside now: ${why}`, { retryAfterSeconds: 1 });
}
