/** Posts lines to accounts. I7: the lines of each posting add up to zero; what does not is not posted. */
import { emptyAccount, type Accounts } from './account.js';
import type { Posting } from './posting.js';
import { USD } from './usd.js';

export class UnbalancedPostingError extends Error {
  constructor(posting: Posting, sum: USD) {
    super(`posting ${posting.key} adds up to ${sum.toString()}, not to zero`);
    this.name = 'UnbalancedPostingError';
  }
}

/** Sum of the lines, exact. */
export function sumOf(posting: Posting): USD {
  return posting.lines.reduce((sum, line) => sum.plus(line.amountUSD), new USD(0));
}

export function post(accounts: Accounts, posting: Posting): Accounts {
  const sum = sumOf(posting);
  if (!sum.isZero()) throw new UnbalancedPostingError(posting, sum);
  const after = new Map(accounts);
  for (const line of posting.lines) {
    const account = after.get(line.account) ?? emptyAccount(line.account);
    after.set(line.account, { ...account, spentUSD: account.spentUSD.plus(line.amountUSD) });
  }
  return after;
}
