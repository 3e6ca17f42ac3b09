/** The book against a plain ledger that does one operation at a time: no wrong yes, and no wrong no (I7). */
import test from 'ava';
import fc from 'fast-check';
import { BLOCK_TERMS } from '../../src/money/draw.js';
import { balanceOf, EMPTY_BOOK, openBook, type Book } from '../../src/money/book.js';
import type { Segment } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { sumUSD, USD } from '../../src/money/usd.js';
import { nano } from './billionths.js';
import { openModel } from './model.js';
import { applyAfter, foundIn, usesOf } from './replay.js';

/** Some minutes before a month ends. */
const START = Date.UTC(2026, 10, 30, 23, 50);

const money = (most: number) => fc.integer({ min: 0, max: most }).map((n) => new USD(BigInt(n)).toFixed());
const key = fc.constantFrom('j', 'k', 'l', 'm', 'n');
const rate = fc.constantFrom('0', '1', '0.333333333', '12.000000007', '60');
const segment = fc.constantFrom('Boot' as const, 'Running' as const, 'Restore' as const, 'Teardown' as const);

const terms = fc.record({
  rateUSDPerHour: rate,
  incrementMs: fc.constantFrom(1, 1_000, 60_000),
  minimumUSD: fc.constantFrom('0', '0.01', '2.5'),
  unitMs: fc.constant(60_000),
  reserveMs: fc.constantFrom(0, 60_000),
});
const owner = (uid: string) => ({ uid, kind: 'Attempt', project: 'p', name: uid });
const payer = fc.record({
  project: fc.constantFrom('p', 'q'),
  labels: fc.constantFrom<Record<string, string>>({}, { team: 'x' }, { team: 'y' }),
  costs: fc.constantFrom([owner('a')], [owner('a'), owner('b')], [owner('c'), owner('b')]),
});
const budgets: readonly Omit<BudgetLimit, 'limitUSD'>[] = [
  { uid: 'b-1', name: 'all', action: 'Block', period: 'Monthly', thresholds: [50] },
  { uid: 'b-2', name: 'team', action: 'Block', period: 'Total', selector: 'team=x', thresholds: [] },
  { uid: 'b-3', name: 'seen', action: 'Notify', period: 'Monthly', thresholds: [] },
  { uid: 'b-4', name: 'project', action: 'Block', period: 'Monthly', project: 'q', thresholds: [] },
];

const count = fc.nat(50);
const use = fc
  .record({ uid: fc.constantFrom('e', 'f'), requests: count, errors: count, inputTokens: count, outputTokens: count })
  .map((one) => ({ ...one, errors: Math.min(one.errors, one.requests) }));
const block = fc.constantFrom('block/1/e/1', 'block/1/f/1');

type Step = { readonly after: number; readonly operation: (now: number, book: Book) => MoneyOperation };
const fixed = (operations: fc.Arbitrary<MoneyOperation>) => operations.map((one) => () => one);
const operation: fc.Arbitrary<Step['operation']> = fc.oneof(
  {
    weight: 5,
    arbitrary: fixed(fc.record({ op: fc.constant('Place'), key, owner: fc.constant(owner('a')), payer, terms })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(key, segment, fc.integer({ min: -90_000, max: 5_000 }), fc.option(rate, { nil: undefined }))
      .map(([of, what, ago, rateUSDPerHour]) => (now: number): MoneyOperation => ({
        op: 'Bill',
        key: of,
        segment: what,
        from: now + ago,
        rateUSDPerHour,
      })),
  },
  { weight: 5, arbitrary: fixed(fc.record({ op: fc.constant('Renew'), key: fc.oneof(key, block) })) },
  {
    weight: 3,
    arbitrary: fixed(
      fc.record({
        ...{ op: fc.constant('Place'), key: block, owner: fc.constant(owner('e')), payer },
        ...{ terms: fc.constant(BLOCK_TERMS), amountUSD: money(2_000_000_000) },
      }),
    ),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        fc.oneof({ weight: 9, arbitrary: block }, { weight: 1, arbitrary: key }),
        fc.constantFrom(1, 1, 1, 1, 1, 0, 2),
        fc.oneof(money(300_000_000), money(2_500_000_000)),
        fc.oneof(money(2_500_000_000), fc.constant('0')),
        fc.option(use, { nil: undefined }),
      )
      .map(([of, ahead, usedUSD, holdUSD, counted]) => (_: number, { holds }: Book): MoneyOperation => ({
        ...{ op: 'Draw', key: of, draw: Math.max(1, (holds.get(of)?.drawn ?? 0) + ahead), usedUSD, holdUSD },
        use: counted,
      })),
  },
  fixed(fc.record({ op: fc.constant('Count'), use })),
  fixed(fc.record({ op: fc.constant('Release'), key: block })),
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        key,
        fc.integer({ min: -90_000, max: 0 }),
        fc.constantFrom<Segment[]>([], ['Boot', 'Running'], ['Boot', 'Teardown']),
      )
      .map(([of, ago, covered]) => (now: number): MoneyOperation => ({
        ...{ op: 'Release', key: of, until: now + ago },
        covered,
      })),
  },
  {
    weight: 2,
    arbitrary: fixed(
      fc
        .tuple(fc.constantFrom(...budgets), money(8_000_000_000))
        .map(([budget, limitUSD]) => ({ op: 'SetBudget', budget: { ...budget, limitUSD } })),
    ),
  },
  fixed(fc.record({ op: fc.constant('DropBudget'), uid: fc.constantFrom('b-1', 'b-2', 'b-3', 'b-4') })),
  fixed(
    fc.record({
      ...{ op: fc.constant('SetCap'), uid: fc.constantFrom('a', 'b', 'c') },
      limitUSD: fc.option(money(5_000_000_000), { nil: undefined }),
    }),
  ),
  fixed(fc.record({ op: fc.constant('SetMode'), mode: fc.constantFrom('Prepaid', 'Prepaid', 'Unlimited') })),
  fc
    .tuple(fc.constantFrom('g', 'h', 'i'), money(9_000_000_000), fc.option(fc.integer({ min: -1_000, max: 600_000 })))
    .map(([grant, amountUSD, lasts]) => (now: number): MoneyOperation => ({
      ...{ op: 'Credit', grant, amountUSD, once: `topup/${grant}/${amountUSD.length}` },
      expires: lasts === null ? undefined : now + lasts,
    })),
  fixed(fc.constant({ op: 'Expire' })),
  fixed(
    fc.record({
      ...{ op: fc.constant('Clawback'), grant: fc.constantFrom('g', 'h', 'never'), amountUSD: money(4_000_000_000) },
      once: fc.constantFrom('refund/1', 'refund/2', 'dispute/1'),
    }),
  ),
  fixed(fc.record({ op: fc.constant('SetDisputed'), disputed: fc.constantFrom(true, false, false) })),
  fc
    .tuple(fc.nat(7), money(900_000_000), fc.boolean(), fc.nat(9))
    .map(([back, amount, less, once]) => (_: number, { postings }: Book): MoneyOperation => ({
      ...{ op: 'Correct', posting: postings.at(-1 - back)?.key ?? 'none', once: `${once}` },
      amountUSD: less ? `-${amount}` : amount,
    })),
);
const step: fc.Arbitrary<Step> = fc.record({
  after: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 90_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(400_000, 7_200_000, 33 * 86_400_000) },
  ),
  operation,
});

const signed = (amount: USD): bigint => nano(amount.toFixed());

test('in any order of operations the book says yes and no where a plain ledger does, and every sum is the same', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const book = openBook(EMPTY_BOOK);
      const model = openModel();
      const history: MoneyOperation[] = [];
      let now = START;
      for (const { after, operation: next } of steps) {
        now += after;
        const asked = next(now, book);
        const answer = applyAfter(book, asked, now);
        const wrong = model.apply(asked, now, answer, foundIn(book, asked));
        history.push(asked);
        if (wrong !== undefined) throw new Error(`${wrong}: ${JSON.stringify(history)}`);
        for (const name of new Set([...book.counters.keys(), ...model.counters()])) {
          const counter = book.counter(name);
          const expected = [model.spent(name), model.held(name)];
          const found = [signed(counter.spentUSD), signed(counter.heldUSD)];
          if (found.join() !== expected.join())
            throw new Error(`${name}: ${found.join()}, expected ${expected.join()}: ${JSON.stringify(history)}`);
          if (counter.heldUSD.isNegative() && !counter.heldUSD.isZero())
            throw new Error(`${name} holds less than nothing`);
        }
        if (signed(balanceOf(book)) !== model.balance())
          throw new Error(`the balance is ${balanceOf(book).toFixed()}: ${JSON.stringify(history)}`);
      }
      const used = usesOf(book);
      for (const uid of new Set([...used.keys(), ...model.endpoints()]))
        if ((used.get(uid) ?? []).join() !== model.use(uid).join())
          throw new Error(`the use of ${uid} is ${used.get(uid)?.join()}: ${JSON.stringify(history)}`);
      const lines = book.postings.flatMap((posting) => posting.lines);
      const keys = new Set(book.postings.map((posting) => posting.key));
      const wallet = sumUSD(lines.filter(({ account }) => account === 'wallet').map(({ amountUSD }) => amountUSD));
      return (
        sumUSD(lines.map(({ amountUSD }) => amountUSD)).isZero() &&
        keys.size === book.postings.length &&
        wallet.eq(book.walletUSD)
      );
    }),
    { numRuns: Number(process.env['MONEY_RUNS'] ?? 500), includeErrorInReport: true },
  );
  t.pass();
});
