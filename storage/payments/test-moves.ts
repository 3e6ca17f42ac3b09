/**
 * The steps of a purchase at the embedded test processor, each one statement. All have one form:
 * 1. `due`: the purchase is locked, if it is in the state that the step needs. A step that waited here looks at the row as the one before
 *    left it, so two of them at once are one after the other.
 * 2. `numbered`: the row of numbers is locked until the commit. So changes are committed in the order of their numbers, and the number of an
 *    invoice is taken by a payment that is committed, or by none.
 * 3. The purchase gets its new state and the number of the change.
 */
import type { Statement } from '../postgres.js';

/** Of one purchase. One more is refused. */
export const MOST_REFUNDS = 100;

interface Step {
  readonly name: string;
  /** Of the row of $1, at the time $2. */
  readonly when: string;
  readonly set: string;
  readonly takesInvoice?: boolean;
}

function statementOf({ name, when, set, takesInvoice = false }: Step): Statement {
  const text = `
WITH due AS MATERIALIZED (
  SELECT id FROM test_purchases WHERE id = $1 AND ${when} FOR UPDATE
), numbered AS (
  UPDATE test_numbers SET change = change + 1${takesInvoice ? ', invoice = invoice + 1' : ''}
  WHERE EXISTS (SELECT FROM due) RETURNING invoice, change
)
UPDATE test_purchases p SET ${set}${takesInvoice ? ', invoice = n.invoice' : ''}, changed = n.change, changed_at = $2::bigint
FROM due d, numbered n WHERE p.id = d.id`;
  return { name, text };
}

/** Precondition: it is open and its time is not over. Result: it is paid by a card, which may be charged again if $3, and has an invoice. */
export const PAY = statementOf({
  name: 'pay a test purchase',
  when: `state = 'Open' AND (expires IS NULL OR expires > $2::bigint)`,
  set: `state = 'Paid', method = 'Card', card_saved = $3 AND save_card, paid = $2::bigint`,
  takesInvoice: true,
});

/** The steps that take no more than the purchase ($1) and the time ($2). */
export const STEPS = {
  /** Precondition: it is open and its time is not over. Result: a bank settles. */
  PayByBank: statementOf({
    name: 'pay a test purchase by bank',
    when: `state = 'Open' AND (expires IS NULL OR expires > $2::bigint)`,
    set: `state = 'Pending', method = 'Bank'`,
  }),
  /** Precondition: a bank settles. Result: it is paid, and has an invoice. Its page may have expired in between. */
  BankPays: statementOf({
    name: 'settle a test purchase',
    when: `state = 'Pending'`,
    set: `state = 'Paid', paid = $2::bigint`,
    takesInvoice: true,
  }),
  /** Precondition: a bank settles. Result: it has failed. */
  BankRefuses: statementOf({
    name: 'fail a test purchase',
    when: `state = 'Pending'`,
    set: `state = 'Failed'`,
  }),
  /** Precondition: it is paid, some of that is left, and it was never disputed. Result: what is left is disputed. */
  Dispute: statementOf({
    name: 'dispute a test purchase',
    when: `state = 'Paid' AND dispute IS NULL AND refunded_usd < amount_usd`,
    set: `dispute = 'Open', dispute_usd = amount_usd - refunded_usd`,
  }),
  /** Precondition: it is disputed, or the dispute was lost: then an appeal is won. Result: the shop keeps the money. */
  WinDispute: statementOf({
    name: 'win a test dispute',
    when: `dispute IN ('Open', 'Lost')`,
    set: `dispute = 'Won'`,
  }),
  /** Precondition: it is disputed. Result: the payer has the money back. */
  LoseDispute: statementOf({
    name: 'lose a test dispute',
    when: `dispute = 'Open'`,
    set: `dispute = 'Lost'`,
  }),
} as const satisfies Readonly<Record<string, Statement>>;

/**
 * Precondition: it is of the org $3, is paid, and no dispute about it is open or lost; the key $5 was not used, and $6 is at most what is left.
 * Result: $6 is paid back, as the refund $4.
 */
export const REFUND = statementOf({
  name: 'refund a test purchase',
  when: `org = $3 AND state = 'Paid' AND coalesce(dispute, 'Won') = 'Won' AND refunded_usd + $6::numeric <= amount_usd
    AND jsonb_array_length(refunds) < ${MOST_REFUNDS} AND NOT refunds @> jsonb_build_array(jsonb_build_object('key', $5::text))`,
  set: `refunded_usd = refunded_usd + $6::numeric, refunds = refunds || jsonb_build_object(
    'id', $4::text, 'key', $5::text, 'amountUSD', $6::numeric(20, 2)::text, 'time', $2::bigint)`,
});

/** Precondition: none. Result: at most $2 of the open purchases whose time was over at $1 are Expired. One that is being paid is left out. */
export const EXPIRE: Statement = {
  name: 'expire test purchases',
  text: `
WITH due AS MATERIALIZED (
  SELECT id FROM test_purchases WHERE state = 'Open' AND expires <= $1::bigint ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED
), ranked AS MATERIALIZED (
  SELECT id, row_number() OVER () AS rank FROM due
), numbered AS (
  UPDATE test_numbers SET change = change + (SELECT count(*) FROM ranked) WHERE EXISTS (SELECT FROM ranked) RETURNING change
)
UPDATE test_purchases p SET state = 'Expired', changed = n.change + 1 - r.rank, changed_at = $1::bigint
FROM ranked r, numbered n WHERE p.id = r.id`,
};
