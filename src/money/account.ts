/**
 * Computes what an account is worth and whether a hold fits: the pure half of the money check. The commit runs it under its
 * lock, with the accounts as they are in that very transaction.
 *
 * I7: under Block, spent + held <= limit after every admitted hold. A posting is never refused: what was used was used.
 */
import type { AccountSetting, Hold } from './posting.js';
import { showUSD, USD } from './usd.js';

export interface Account {
  readonly account: string;
  readonly policy: 'Block' | 'Observe';
  /** Absent: no limit. */
  readonly limitUSD?: USD | undefined;
  /** Sum of the account's lines. A grant is a negative line. */
  readonly spentUSD: USD;
  readonly heldUSD: USD;
}

/** Accounts of one org by name. */
export type Accounts = ReadonlyMap<string, Account>;

export type Admission =
  | { readonly outcome: 'Admitted'; readonly accounts: Accounts }
  | { readonly outcome: 'Refused'; readonly by: string; readonly availableUSD: string };

const ZERO = new USD(0);

export function emptyAccount(account: string): Account {
  return { account, policy: 'Observe', spentUSD: ZERO, heldUSD: ZERO };
}

/** What can still be held; undefined: no limit. Never below zero. */
export function available(account: Account): USD | undefined {
  if (account.policy !== 'Block' || account.limitUSD === undefined) return undefined;
  return USD.max(0, account.limitUSD.minus(account.spentUSD).minus(account.heldUSD));
}

/** Sets the money aside on every account of the hold, or on none and names the first that has too little. */
export function admit(accounts: Accounts, hold: Hold): Admission {
  const amount = new USD(hold.amountUSD);
  if (!amount.isFinite() || amount.isNegative()) throw new RangeError(`a hold of ${hold.amountUSD} USD`);
  const after = new Map(accounts);
  for (const name of new Set(hold.accounts)) {
    const account = accounts.get(name) ?? emptyAccount(name);
    const left = available(account);
    if (left !== undefined && amount.greaterThan(left))
      return { outcome: 'Refused', by: name, availableUSD: showUSD(left) };
    after.set(name, { ...account, heldUSD: account.heldUSD.plus(amount) });
  }
  return { outcome: 'Admitted', accounts: after };
}

/** Gives a hold's money back to every account that it named. */
export function release(accounts: Accounts, hold: Hold): Accounts {
  const after = new Map(accounts);
  for (const name of new Set(hold.accounts)) {
    const account = accounts.get(name) ?? emptyAccount(name);
    after.set(name, { ...account, heldUSD: USD.max(0, account.heldUSD.minus(hold.amountUSD)) });
  }
  return after;
}

/** The account with a new limit; what is spent and held stays, also when it is above the limit now. */
export function limit(accounts: Accounts, setting: AccountSetting): Accounts {
  const account = accounts.get(setting.account) ?? emptyAccount(setting.account);
  const limitUSD = setting.limitUSD === undefined ? undefined : new USD(setting.limitUSD);
  return new Map(accounts).set(setting.account, { ...account, policy: setting.policy, limitUSD });
}
