/**
 * The accounts of an org's money, by double entry. Each function answers the lines of its posting, which add up to zero (I7).
 * Nothing is clamped: what no grant covers stands below zero on `wallet`, and that is what is owed.
 */
import { availableOn, type Book, type Grant, type Line } from './book.js';
import { WALLET } from './counters.js';
import { USD, ZERO } from './usd.js';

export function grantAccount(uid: string): string {
  return `grants/${uid}`;
}

/** A charge takes from grants, soonest expiry first, then from the wallet. One that is not `paid` so is unbilled. */
export function debit(book: Book, amount: USD, paid: boolean): readonly Line[] {
  const revenue = { account: 'revenue', amountUSD: amount };
  if (!paid) return [{ account: 'unbilled', amountUSD: amount.negated() }, revenue];
  return [...take(book, amount, soonestFirst(book)), revenue];
}

/** Takes back what this grant was bought with: of it first, so that what was paid back is not spent from another payment. */
export function clawBack(book: Book, uid: string, amount: USD): readonly Line[] {
  const grants = soonestFirst(book);
  const own = grants.filter((grant) => grant.uid === uid);
  const others = grants.filter((grant) => grant.uid !== uid);
  return [...take(book, amount, [...own, ...others]), { account: 'funding', amountUSD: amount }];
}

/** In this order, and the rest of the account `wallet`. */
function take(book: Book, amount: USD, grants: readonly Grant[]): readonly Line[] {
  const lines: Line[] = [];
  let left = amount;
  for (const grant of grants) {
    if (left.isZero()) break;
    const taken = USD.min(left, grant.remainingUSD);
    lines.push(takeFrom(book, grant, taken));
    left = left.minus(taken);
  }
  if (left.isZero()) return lines;
  book.setWallet(book.walletUSD.minus(left));
  return [...lines, { account: WALLET, amountUSD: left.negated() }];
}

/** Gives back what was charged: to the wallet, where the next charges find it. What was not `paid` gives nobody credits. */
export function giveBack(book: Book, amount: USD, paid: boolean): readonly Line[] {
  const revenue = { account: 'revenue', amountUSD: amount.negated() };
  if (!paid) return [{ account: 'unbilled', amountUSD: amount }, revenue];
  book.setWallet(book.walletUSD.plus(amount));
  return [{ account: WALLET, amountUSD: amount }, revenue];
}

/** A credit pays what is owed first; the rest is the grant's. */
export function credit(book: Book, grant: Omit<Grant, 'remainingUSD'>): readonly Line[] {
  const amount = grant.amountUSD;
  const owed = USD.max(0, book.walletUSD.negated());
  const paid = USD.min(owed, amount);
  const rest = amount.minus(paid);
  book.setGrant({ ...grant, remainingUSD: rest });
  if (!paid.isZero()) book.setWallet(book.walletUSD.plus(paid));
  const lines = [
    { account: 'funding', amountUSD: amount.negated() },
    { account: WALLET, amountUSD: paid },
    { account: grantAccount(grant.uid), amountUSD: rest },
  ];
  return lines.filter(({ amountUSD }) => !amountUSD.isZero());
}

/** Of a grant whose time is over, what nobody holds is taken; what is held goes when it is given back. */
export function expire(book: Book, grant: Grant): readonly Line[] {
  const free = availableOn(book, WALLET) ?? grant.remainingUSD;
  const taken = USD.max(ZERO, USD.min(grant.remainingUSD, free));
  if (taken.isZero()) return [];
  return [takeFrom(book, grant, taken), { account: 'expired', amountUSD: taken }];
}

/** Grants whose time is over and that still have something. */
export function expiredGrants(book: Book, now: number): readonly Grant[] {
  return soonestFirst(book).filter(({ expires }) => expires !== undefined && expires <= now);
}

function takeFrom(book: Book, grant: Grant, amount: USD): Line {
  book.setGrant({ ...grant, remainingUSD: grant.remainingUSD.minus(amount) });
  return { account: grantAccount(grant.uid), amountUSD: amount.negated() };
}

function soonestFirst({ grants }: Book): readonly Grant[] {
  const open = [...grants.values()].filter(({ remainingUSD }) => remainingUSD.gt(0));
  const until = ({ expires }: Grant): number => expires ?? Number.POSITIVE_INFINITY;
  return open.toSorted((a, b) => (until(a) === until(b) ? (a.uid < b.uid ? -1 : 1) : until(a) - until(b)));
}
