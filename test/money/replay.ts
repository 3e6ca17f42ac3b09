/** Carries operations out on a book that is never read anew, so that it knows all its postings: what a commit reads, it remembers. */
import { applyOperation } from '../../src/money/apply.js';
import type { Book } from '../../src/money/book.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import { sumUSD } from '../../src/money/usd.js';
import type { Found } from './model.js';

export function applyAfter(book: Book, operation: MoneyOperation, now: number): OperationResult {
  if (operation.op === 'Correct') rememberUse(book, operation.posting);
  return applyOperation(book, operation, now);
}

export function foundIn(book: Book, operation: MoneyOperation): Found {
  if (operation.op === 'Correct') return { posting: book.postings.find(({ key }) => key === operation.posting) };
  return 'key' in operation ? { hold: book.holds.get(operation.key) } : {};
}

function rememberUse(book: Book, key: string): void {
  const posting = book.postings.find((one) => one.key === key);
  const { usage, owner, segment, lines } = posting ?? {};
  if (posting?.reason !== 'Use' || !usage || owner === undefined || segment === undefined || !lines) return;
  const all = [posting, ...book.postings.filter((one) => one.key.startsWith(`${key}/corrected/`))];
  book.setCorrected(key, {
    ...{ period: posting.period, counters: posting.counters, usage, owner, segment },
    amountUSD: sumUSD(all.map(({ amountUSD }) => amountUSD)),
    paid: lines.some(({ account }) => account === 'wallet' || account.startsWith('grants/')),
  });
}

/** What requests through each InferenceEndpoint came to, in the order of `Model.use`. */
export function usesOf({ uses }: Pick<Book, 'uses'>): ReadonlyMap<string, readonly bigint[]> {
  const sums = new Map<string, readonly bigint[]>();
  for (const { uid, requests, errors, inputTokens, outputTokens, costUSD } of uses) {
    const before = sums.get(uid) ?? [];
    const more = [...[requests, errors, inputTokens, outputTokens].map(BigInt), costUSD.billionths];
    sums.set(
      uid,
      more.map((amount, i) => amount + (before[i] ?? 0n)),
    );
  }
  return sums;
}
