/** Posts what a hold is charged: on its counters, in double entry, from the credits or unbilled. */
import type { Book } from './book.js';
import type { Charge, ChargedTo, Charges } from './charge.js';
import type { Hold } from './hold.js';
import { ZERO } from './usd.js';
import { debit, giveBack } from './wallet.js';

/** Posts the charges of a hold; their keys come from its sequence, which goes on with each change. The caller sets what it has left. */
export function postCharges(book: Book, { hold, charges }: Charges): Hold {
  charges.forEach((charge, i) => {
    postCharge(book, hold, charge, `${hold.key}/${hold.placedAt}/${hold.sequence}/${i}`);
  });
  return hold;
}

function postCharge(book: Book, hold: Hold, charge: Charge, key: string): void {
  const { segment, period, amountUSD, coveredUSD, counters, paid } = charge;
  count(book, charge);
  const { project, labels } = hold.payer;
  const about = { period, usage: { project, labels }, owner: hold.owner.uid, segment, counters, amountUSD, coveredUSD };
  const back = amountUSD.isNegative();
  const lines = amountUSD.isZero()
    ? []
    : back
      ? giveBack(book, amountUSD.negated(), paid)
      : debit(book, amountUSD, paid);
  book.post({ key, reason: back ? 'Refund' : 'Use', ...about, lines });
}

export function count(
  book: Book,
  { segment, amountUSD, coveredUSD, counters }: Pick<Charge, 'segment' | 'amountUSD' | 'coveredUSD' | 'counters'>,
): void {
  for (const name of counters) {
    const counter = book.counter(name);
    book.setCounter({
      ...counter,
      spentUSD: counter.spentUSD.plus(amountUSD),
      segments: { ...counter.segments, [segment]: amountUSD.plus(counter.segments[segment] ?? ZERO) },
      covered: coveredUSD.isZero() ? counter.covered : [...new Set([...counter.covered, segment])],
    });
  }
}

/** What was held while another mode was set may not be in the wallet: to charge it there would make arrears that nobody has agreed to. */
function isPaid(book: Book, hold: Hold): boolean {
  return book.mode === 'Prepaid' && hold.fundedIn === book.modeSequence;
}

export function chargedTo(book: Book, hold: Hold): Pick<ChargedTo, 'paid' | 'budgets'> {
  return { paid: isPaid(book, hold), budgets: [...book.budgets.values()] };
}
