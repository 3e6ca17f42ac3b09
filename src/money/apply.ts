/**
 * Carries out operations on an org's book, one after the other, as the commit does under its lock. Pure: `now` is Postgres's clock.
 *
 * I7: a hold is admitted only when every limited counter of it has the money; a charge never exceeds what its hold has; nobody with money
 * is refused. Charges and renewals are computed from the hold's row, so an operation that comes late or twice cannot do harm.
 */
import { availableOn, type Book, type Posting } from './book.js';
import { chargeToEnd, chargeUntil } from './charge.js';
import { budgetCounter, monthOf, parseCounter, periodOf, WALLET } from './counters.js';
import { chargeUnderWay, countUse, draw } from './draw.js';
import { firstAmount, type Hold, type Part, type Segment } from './hold.js';
import { withOpenings } from './late-budgets.js';
import type { BudgetLimit, StandingBudget } from './limits.js';
import type { Applied, MoneyOperation, OperationResult } from './operation.js';
import { countersOf, isInScope } from './payer.js';
import { fits, isPaused, refusalByDispute, refusalOn, renewedParts, tightest } from './admission.js';
import { chargedTo, count, postCharges } from './post-charges.js';
import { fundedUntil, partsOf } from './renewal.js';
import { amountOf, sumUSD, USD, ZERO } from './usd.js';
import { clawBack, credit, debit, expire, expiredGrants, giveBack } from './wallet.js';

/** What refuses a member. */
export type MemberRefusal = Extract<OperationResult, { outcome: 'Refused' | 'DuplicateKey' }>;

export type MemberResult =
  | { readonly outcome: 'Applied'; readonly results: readonly OperationResult[] }
  | { readonly outcome: 'NotApplied'; readonly refusal: MemberRefusal };

/** All of one member's operations, or none of them and what refused it. */
export function applyMember(book: Book, operations: readonly MoneyOperation[], now: number): MemberResult {
  const mark = book.mark();
  const results: OperationResult[] = [];
  for (const operation of operations) {
    const result = applyOperation(book, operation, now);
    if (result.outcome === 'Refused' || result.outcome === 'DuplicateKey') {
      book.undo(mark);
      return { outcome: 'NotApplied', refusal: result };
    }
    results.push(result);
  }
  return { outcome: 'Applied', results };
}

/** A refused operation leaves no trace. */
export function applyOperation(book: Book, operation: MoneyOperation, now: number): OperationResult {
  const mark = book.mark();
  expireGrants(book, now);
  const result = carryOut(book, operation, now);
  if (result.outcome === 'Refused' || result.outcome === 'DuplicateKey') book.undo(mark);
  else if (operation.op !== 'Place' && operation.op !== 'Expire') expireGrants(book, now);
  return result;
}

const DONE: Applied = { outcome: 'Applied' };
const GONE: OperationResult = { outcome: 'Nothing', why: 'Gone' };

function carryOut(book: Book, operation: MoneyOperation, now: number): OperationResult {
  switch (operation.op) {
    case 'Place':
      return place(book, operation, now);
    case 'Bill': {
      const hold = book.holds.get(operation.key);
      return hold === undefined ? GONE : bill(book, hold, operation, now);
    }
    case 'Renew': {
      const hold = book.holds.get(operation.key);
      if (hold === undefined) return GONE;
      const movedOn = operation.sequence !== undefined && operation.sequence !== hold.sequence;
      return movedOn ? { outcome: 'Nothing', why: 'MovedOn' } : renew(book, hold, now);
    }
    case 'Release': {
      const hold = book.holds.get(operation.key);
      if (hold === undefined) return GONE;
      const left = operation.abandoned === true ? chargeUnderWay(book, hold, now) : hold;
      release(book, left, Math.min(operation.until ?? now, now), operation.covered ?? []);
      return DONE;
    }
    case 'SetBudget':
      setBudget(book, operation.budget, now);
      return DONE;
    case 'DropBudget':
      // Its counters stay: holds name them.
      book.setBudget(operation.uid, undefined);
      return DONE;
    case 'SetCap':
      book.setCap(operation.uid, operation.limitUSD === undefined ? undefined : amountOf(operation.limitUSD));
      return DONE;
    case 'SetMode':
      book.setMode(operation.mode);
      return DONE;
    case 'Credit':
      return addCredit(book, operation, now);
    case 'Clawback':
      return takeBack(book, operation, now);
    case 'SetDisputed':
      book.setDisputed(operation.disputed);
      return DONE;
    case 'Correct':
      return correct(book, operation);
    case 'Draw': {
      const hold = book.holds.get(operation.key);
      return hold === undefined ? GONE : draw(book, hold, operation, now);
    }
    case 'Count':
      countUse(book, operation.use, ZERO, now);
      return DONE;
    case 'Expire':
      return DONE;
  }
}

function place(book: Book, operation: Extract<MoneyOperation, { op: 'Place' }>, now: number): OperationResult {
  const { key, owner, payer, terms, replaces } = operation;
  if (book.holds.has(key)) return { outcome: 'DuplicateKey', key };
  const replaced = replaces === undefined ? undefined : book.holds.get(replaces);
  if (replaced !== undefined) release(book, replaced, now, []);
  const amount = operation.amountUSD === undefined ? firstAmount(terms) : amountOf(operation.amountUSD);
  const parts = partsOf({ terms, billing: undefined }, amount, now, (at) =>
    countersOf(payer, book.budgets.values(), at),
  );
  if (isPaused(book) && costsWallet(parts)) return { outcome: 'Refused', ...refusalByDispute(book, key, parts) };
  // I7
  if (!fits(book, [], parts)) return { outcome: 'Refused', ...refusalOn(book, key, tightest(book, [], parts), parts) };
  const begun = { billedMs: {}, accrued: '0', charged: [], coveredUSD: {} };
  const fundedIn = book.modeSequence;
  book.setHold(key, { key, owner, payer, terms, parts, sequence: 1, placedAt: now, fundedIn, ...begun });
  return isLimited(book, { parts }) ? { outcome: 'Applied', limited: true } : DONE;
}

/** What costs nothing begins all the same. */
function costsWallet(parts: readonly Part[]): boolean {
  return parts.some(({ counter, amountUSD }) => counter === WALLET && !new USD(amountUSD).isZero());
}

function bill(
  book: Book,
  hold: Hold,
  operation: Extract<MoneyOperation, { op: 'Bill' }>,
  now: number,
): OperationResult {
  const { segment } = operation;
  const since = Math.max(hold.billing?.since ?? hold.placedAt, Math.min(operation.from, now));
  const charged = postCharges(book, chargeUntil(hold, since, chargedTo(book, hold)));
  const rateUSDPerHour = operation.rateUSDPerHour ?? hold.billing?.rateUSDPerHour ?? hold.terms.rateUSDPerHour;
  const next = { ...charged, sequence: hold.sequence + 1, billing: { segment, since, rateUSDPerHour } };
  book.setHold(hold.key, next);
  return { outcome: 'Applied', fundedUntil: fundedUntil(next), limited: isLimited(book, next) };
}

/** A refused renewal keeps what it had, unless a Budget has less than nothing: the work goes on until that is spent. */
function renew(book: Book, hold: Hold, now: number): OperationResult {
  const charged = {
    ...postCharges(book, chargeUntil(hold, now, chargedTo(book, hold))),
    sequence: hold.sequence + 1,
  };
  book.setHold(hold.key, charged);
  const renewal = renewedParts(book, charged, now);
  if (renewal.outcome === 'Renewed') {
    const { parts, squeezed } = renewal;
    // What is kept was taken in the mode of before.
    const fundedIn = squeezed ? charged.fundedIn : book.modeSequence;
    const next = { ...charged, parts, squeezed, refusal: undefined, fundedIn };
    book.setHold(hold.key, next);
    const funding = hold.refusal === undefined ? undefined : 'Restored';
    return { outcome: 'Applied', fundedUntil: fundedUntil(next), funding, limited: isLimited(book, next) };
  }
  const { refusal, parts } = renewal;
  const next = {
    ...charged,
    parts,
    squeezed: undefined,
    refusal: { counter: renewal.counter, since: hold.refusal?.since ?? now },
  };
  book.setHold(hold.key, next);
  const funding = hold.refusal === undefined ? 'Refused' : undefined;
  return { outcome: 'Applied', fundedUntil: fundedUntil(next), refusal, funding, limited: true };
}

function isLimited(book: Book, { parts }: Pick<Hold, 'parts'>): true | undefined {
  return parts.some(({ counter }) => availableOn(book, counter) !== undefined) || undefined;
}

function release(book: Book, hold: Hold, until: number, byService: readonly Segment[]): void {
  postCharges(book, chargeToEnd(hold, until, { ...chargedTo(book, hold), byService }));
  book.setHold(hold.key, undefined);
}

/** Under which key of the outside world a correction is known. */
export function correctionOnce(once: string): string {
  return `correction/${once}`;
}

/** History stays as it is: the use is what was posted for it, all together. */
function correct(
  book: Book,
  { posting, amountUSD, once }: Extract<MoneyOperation, { op: 'Correct' }>,
): OperationResult {
  const key = correctionOnce(once);
  if (book.once.has(key)) return { outcome: 'Nothing', why: 'Once' };
  const before = book.corrected.get(posting);
  if (before === undefined) return GONE;
  const amount = new USD(amountUSD);
  const left = before.amountUSD.plus(amount);
  if (left.isNegative()) return { outcome: 'Nothing', why: 'TooMuch' };
  book.addOnce(key);
  book.setCorrected(posting, { ...before, amountUSD: left });
  if (amount.isZero()) return DONE;
  const { paid, ...about } = before;
  const counters = withOpenings(before.counters, before.usage, before.period, [...book.budgets.values()]);
  const change = { ...about, counters, amountUSD: amount, coveredUSD: ZERO };
  count(book, change);
  const lines = amount.isNegative() ? giveBack(book, amount.negated(), paid) : debit(book, amount, paid);
  book.post({ key: `${posting}/corrected/${once}`, reason: 'Correction', ...change, lines });
  return DONE;
}

/**
 * A new monthly Budget begins with what was posted for this month already: else to delete and make it again would be free. Holds that it
 * binds from now on, or that have more than it has, are to be renewed.
 */
function setBudget(book: Book, budget: BudgetLimit, now: number): void {
  const known = book.budgets.get(budget.uid);
  const standing: StandingBudget = { ...budget, made: known?.made ?? now, rebindAt: known?.rebindAt };
  book.setBudget(budget.uid, standing);
  if (known === undefined || isTighter(book, known, budget, now))
    book.setBudget(budget.uid, { ...standing, rebindAt: now });
  if (known !== undefined || budget.period !== 'Monthly') return;
  const counter = book.counter(budgetCounter(budget.uid, periodOf(budget.period, now)));
  const openingUSD = usedInMonth(book, budget, monthOf(now));
  book.setCounter({
    ...counter,
    openingUSD: counter.openingUSD.plus(openingUSD),
    spentUSD: counter.spentUSD.plus(openingUSD),
  });
}

/** Whether it binds other work than before, or has less than nothing now. */
function isTighter(book: Book, before: BudgetLimit, budget: BudgetLimit, now: number): boolean {
  if (before.project !== budget.project || before.selector !== budget.selector) return true;
  if (before.limitUSD === budget.limitUSD && before.action === budget.action) return false;
  return availableOn(book, budgetCounter(budget.uid, periodOf(budget.period, now)))?.lt(0) ?? false;
}

function usedInMonth(book: Book, budget: BudgetLimit, month: string): USD {
  const before = book.monthUsage.filter((usage) => isInScope(usage, budget)).map(({ spentUSD }) => spentUSD);
  const matches = ({ period, usage }: Posting): boolean =>
    period === month && usage !== undefined && isInScope(usage, budget);
  return sumUSD([...before, ...book.postings.filter(matches).map(({ amountUSD }) => amountUSD)]);
}

function addCredit(book: Book, operation: Extract<MoneyOperation, { op: 'Credit' }>, now: number): OperationResult {
  const { grant, name, once, expires } = operation;
  if (once !== undefined && book.once.has(once)) return { outcome: 'Nothing', why: 'Once' };
  if (book.grants.has(grant)) return { outcome: 'DuplicateKey', key: grant };
  if (once !== undefined) book.addOnce(once);
  const amountUSD = amountOf(operation.amountUSD);
  const lines = credit(book, { uid: grant, name, amountUSD, expires });
  book.post({ key: `credit/${grant}`, reason: 'Credit', ...asidesOf(now), amountUSD, lines });
  return DONE;
}

/** Under which key of the outside world a clawback is known. */
export function clawbackOnce(once: string): string {
  return `clawback/${once}`;
}

function takeBack(
  book: Book,
  { grant, amountUSD, once }: Extract<MoneyOperation, { op: 'Clawback' }>,
  now: number,
): OperationResult {
  const key = clawbackOnce(once);
  if (book.once.has(key)) return { outcome: 'Nothing', why: 'Once' };
  book.addOnce(key);
  const amount = amountOf(amountUSD);
  if (amount.isZero()) return DONE;
  const lines = clawBack(book, grant, amount);
  book.post({ key, reason: 'Clawback', ...asidesOf(now), amountUSD: amount.negated(), lines });
  return DONE;
}

function expireGrants(book: Book, now: number): void {
  for (const grant of expiredGrants(book, now)) {
    const lines = expire(book, grant);
    const [taken] = lines;
    if (taken === undefined) continue;
    // What a grant still has falls with each of these, so it makes the key unique.
    const key = `expiry/${grant.uid}/${grant.remainingUSD.toFixed()}`;
    book.post({ key, reason: 'Expiry', ...asidesOf(now), amountUSD: taken.amountUSD, lines });
  }
}

/** Money that moves beside all work counts on no counter. */
function asidesOf(now: number): Pick<Posting, 'period' | 'counters' | 'coveredUSD'> {
  return { period: monthOf(now), counters: [], coveredUSD: ZERO };
}

/** Percents of a Budget's limit that this counter has reached. */
export function thresholdsReached(book: Pick<Book, 'budgets' | 'counter'>, name: string): readonly number[] {
  const parsed = parseCounter(name);
  const budget = parsed.of === 'Budget' ? book.budgets.get(parsed.uid) : undefined;
  const { spentUSD } = book.counter(name);
  if (budget === undefined || spentUSD.lte(0)) return [];
  return budget.thresholds.filter((threshold) => spentUSD.times(100).gte(new USD(budget.limitUSD).times(threshold)));
}
