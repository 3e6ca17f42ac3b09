/** The payer's side of the embedded test processor: steps in each state, two at once, and random ones against a small model. */
import test from 'ava';
import fc from 'fast-check';
import type { DeskAction } from '../../src/engines/payments/test/desk.js';
import { UNPAID_KEPT_MS } from '../../storage/payments/test-checkouts.js';
import { HOUR, never, openTestBench, PURCHASE, type TestBench } from './bench.js';

type Act = DeskAction['action'];

const ACTS: readonly Act[] = [
  ...(['Pay', 'Decline', 'PayByBank', 'BankPays', 'BankRefuses', 'Abandon'] as const),
  ...(['Dispute', 'WinDispute', 'LoseDispute'] as const),
];

/** The states of a page, how one comes to be in it, and what can then be done, with the state that follows. */
const STATES: Readonly<Record<string, { readonly by: readonly Act[]; readonly may: Partial<Record<Act, string>> }>> = {
  Open: { by: [], may: { Pay: 'Paid', Decline: 'Open', PayByBank: 'Pending', Abandon: 'Open' } },
  Pending: { by: ['PayByBank'], may: { BankPays: 'Paid', BankRefuses: 'Failed' } },
  Failed: { by: ['PayByBank', 'BankRefuses'], may: {} },
  Paid: { by: ['Pay'], may: { Dispute: 'Paid' } },
  'Paid, disputed': { by: ['Pay', 'Dispute'], may: { WinDispute: 'Paid', LoseDispute: 'Paid' } },
  'Paid, dispute won': { by: ['Pay', 'Dispute', 'WinDispute'], may: {} },
  'Paid, dispute lost': { by: ['Pay', 'Dispute', 'LoseDispute'], may: { WinDispute: 'Paid' } },
};

test('each action is done in the states that it is of, and changes nothing in the others', async (t) => {
  const bench = await openTestBench(t);
  for (const [state, { by, may }] of Object.entries(STATES)) {
    for (const action of ACTS) {
      const id = await bench.open();
      for (const step of by) t.is((await bench.act(id, step)).outcome, 'Done');
      const before = await bench.desk.find(id);
      const outcome = await bench.act(id, action);
      const after = await bench.desk.find(id);
      const then = may[action];
      t.is(outcome.outcome, then === undefined ? 'NotNow' : 'Done', `${action} in ${state}`);
      if (then === undefined) t.deepEqual(after, before, `${action} in ${state}`);
      else t.is(after?.payment.state, then as never, `${action} in ${state}`);
      if (outcome.outcome !== 'Absent') t.deepEqual(outcome.checkout, after);
    }
  }
});

test('a page whose time is over takes no payment, but a bank that was asked before still settles', async (t) => {
  const bench = await openTestBench(t);
  const late = await bench.open();
  const pending = await bench.open();
  await bench.act(pending, 'PayByBank');
  bench.pass(HOUR);
  for (const action of ['Pay', 'PayByBank', 'Decline', 'Abandon'] as const)
    t.is((await bench.act(late, action)).outcome, 'NotNow', action);
  t.is((await bench.desk.find(late))?.payment.state, 'Expired');
  t.is((await bench.act(pending, 'BankPays')).outcome, 'Done');
  t.is((await bench.desk.find(pending))?.invoice, 1);
});

test('an id that no page has, or that is malformed, finds no page and does nothing', async (t) => {
  const bench = await openTestBench(t);
  const id = await bench.open();
  for (const wrong of [id.slice(1), `${id}A`, `A${id.slice(1)}`, '', '%00', "' OR 1=1 --", '-'.repeat(43)]) {
    if (wrong === id) continue;
    t.is(await bench.desk.find(wrong), undefined, wrong);
    t.deepEqual(await bench.act(wrong, 'Pay'), { outcome: 'Absent' });
  }
  t.is((await bench.desk.find(id))?.payment.state, 'Open');
});

test('of twelve payments at one page at once one is made, with one invoice', async (t) => {
  const bench = await openTestBench(t);
  for (let round = 1; round <= 20; round++) {
    const id = await bench.open();
    const tries = await Promise.all(
      Array.from({ length: 12 }, (_, i) => bench.act(id, i % 3 === 0 ? 'PayByBank' : 'Pay')),
    );
    t.is(tries.filter(({ outcome }) => outcome === 'Done').length, 1);
    await bench.act(id, 'BankPays');
    const paid = await bench.desk.find(id);
    t.is(paid?.payment.state, 'Paid');
    t.is(paid?.invoice, round, 'no number is left out');
  }
});

test('pages that are paid at once have invoices without gaps, and readers see every change in order', async (t) => {
  const bench = await openTestBench(t);
  const ids = await Promise.all(
    Array.from({ length: 30 }, (_, i) => bench.open({ purchase: { ...PURCHASE, name: `n${i}`, uid: `u${i}` } })),
  );
  const seen = new Set<string>();
  let cursor: string | undefined = '0';
  const look = async (): Promise<void> => {
    const page = await bench.processor.changes(cursor, never);
    if (page.outcome !== 'Changes') return void t.fail();
    for (const { uid } of page.changed) seen.add(uid);
    cursor = page.cursor;
  };
  let paying = true;
  const paid = Promise.all(ids.map((id) => bench.act(id, 'Pay'))).finally(() => (paying = false));
  while (paying) await look();
  await paid;
  await look();
  t.is(seen.size, 30, 'a cursor never passes over a change that is not yet committed');
  const invoices = await Promise.all(ids.map(async (id) => (await bench.desk.find(id))?.invoice ?? 0));
  t.deepEqual(
    invoices.toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
});

test('a payment and the end of its page at once come to one of both', async (t) => {
  const bench = await openTestBench(t);
  let paid = 0;
  for (let round = 0; round < 20; round++) {
    const request = bench.request({ expires: bench.now() + 1_000 });
    const opened = await bench.processor.openCheckout(request, never);
    if (opened.outcome !== 'Opened') return t.fail();
    const [pay] = await Promise.all([
      bench.rows.pay(opened.id, false, request.expires - 1),
      bench.rows.expire(request.expires, 10),
    ]);
    const payment = await bench.read(opened.id, request);
    t.is(payment.state, pay ? 'Paid' : 'Expired');
    paid += pay ? 1 : 0;
    bench.pass(2_000);
  }
  const { rows } = await bench.postgres.pool.query<{ invoice: number }>('SELECT invoice FROM test_numbers');
  t.is(rows[0]?.invoice, paid);
});

test('of refunds at once no more is paid back than was paid, and each key pays back once', async (t) => {
  const bench = await openTestBench(t);
  for (let round = 0; round < 10; round++) {
    const request = bench.request();
    const opened = await bench.processor.openCheckout(request, never);
    if (opened.outcome !== 'Opened') return t.fail();
    const { id } = opened;
    await bench.act(id, 'Pay');
    const source = { type: 'Checkout', id } as const;
    const refund = (key: string) =>
      bench.processor.refund({ purchase: PURCHASE, source, key, amountUSD: '6.00' }, never);
    const tries = await Promise.all(['a', 'b', 'c', 'd', 'a', 'b'].map(refund));
    const payment = await bench.read(id, request);
    if (payment.state !== 'Paid') return t.fail();
    t.is(payment.refunds.length, 3);
    const made = tries.flatMap((one) => (one.outcome === 'Refunded' ? [one.id] : []));
    t.deepEqual([...new Set(made)].toSorted(), payment.refunds.map((one) => one.id).toSorted());
    t.is((await bench.desk.find(id))?.creditNotes.length, 3);
  }
});

test('what was never paid is removed 30 days after it ended, and nothing else is', async (t) => {
  const bench = await openTestBench(t);
  const paid = await bench.open();
  await bench.act(paid, 'Pay');
  const pending = await bench.open();
  await bench.act(pending, 'PayByBank');
  const failed = await bench.open();
  await bench.act(failed, 'PayByBank');
  await bench.act(failed, 'BankRefuses');
  const expired = await bench.open();
  bench.pass(UNPAID_KEPT_MS);
  await bench.rows.sweepUnpaid(bench.now() - UNPAID_KEPT_MS, never);
  t.truthy(await bench.desk.find(expired), 'its page ended an hour after it was made');
  bench.pass(HOUR + 1);
  const open = await bench.open();
  await bench.rows.sweepUnpaid(bench.now() - UNPAID_KEPT_MS, never);
  for (const id of [paid, pending, open]) t.truthy(await bench.desk.find(id));
  for (const id of [failed, expired]) t.is(await bench.desk.find(id), undefined);
});

/** What a page should be, told without a database. */
interface Model {
  state: 'Open' | 'Pending' | 'Paid' | 'Failed';
  expires: number;
  refunded: number;
  dispute: 'None' | 'Open' | 'Won' | 'Lost';
}

interface Step {
  readonly page: number;
  readonly what:
    | { readonly type: 'Act'; readonly action: Act }
    | { readonly type: 'Refund'; readonly dollars: number; readonly key: number }
    | { readonly type: 'Pass' };
}

const PAGES = 3;
const stepsOf: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    page: fc.nat({ max: PAGES - 1 }),
    what: fc.oneof(
      fc.constantFrom<Act>(...ACTS, 'Pay', 'Pay', 'Pay').map((action) => ({ type: 'Act', action }) as const),
      fc.record({
        type: fc.constant('Refund' as const),
        dollars: fc.integer({ min: 1, max: 12 }),
        key: fc.nat({ max: 3 }),
      }),
      fc.constant({ type: 'Pass' } as const),
    ),
  }),
  { minLength: 6, maxLength: 30 },
);

function expected(model: Model, action: Act, now: number): Partial<Model> | undefined {
  const isOpen = model.state === 'Open' && now < model.expires;
  if (action === 'Pay') return isOpen ? { state: 'Paid' } : undefined;
  if (action === 'PayByBank') return isOpen ? { state: 'Pending' } : undefined;
  if (action === 'Decline' || action === 'Abandon') return isOpen ? {} : undefined;
  if (action === 'BankPays') return model.state === 'Pending' ? { state: 'Paid' } : undefined;
  if (action === 'BankRefuses') return model.state === 'Pending' ? { state: 'Failed' } : undefined;
  if (action === 'Dispute')
    return model.state === 'Paid' && model.dispute === 'None' && model.refunded < 20 ? { dispute: 'Open' } : undefined;
  if (action === 'LoseDispute') return model.dispute === 'Open' ? { dispute: 'Lost' } : undefined;
  return model.dispute === 'Open' || model.dispute === 'Lost' ? { dispute: 'Won' } : undefined;
}

async function play(bench: TestBench, steps: readonly Step[]): Promise<void> {
  const pages = await Promise.all(
    Array.from({ length: PAGES }, async (_, i) => {
      const request = bench.request({
        purchase: { org: 'acme', name: `p${i}`, uid: `${bench.now()}-${i}` },
        expires: bench.now() + 3 * HOUR,
      });
      const opened = await bench.processor.openCheckout(request, never);
      if (opened.outcome !== 'Opened') throw new Error('a page was not opened');
      const model: Model = { state: 'Open', expires: request.expires, refunded: 0, dispute: 'None' };
      return { request, id: opened.id, model, keys: new Map<number, { id: string; dollars: number }>() };
    }),
  );
  for (const { page, what } of steps) {
    const at = pages[page];
    if (at === undefined) continue;
    const { model, id, request, keys } = at;
    if (what.type === 'Pass') bench.pass(HOUR);
    else if (what.type === 'Act') {
      const change = expected(model, what.action, bench.now());
      const { outcome } = await bench.act(id, what.action);
      if (outcome !== (change === undefined ? 'NotNow' : 'Done')) throw new Error(`${what.action}: ${outcome}`);
      Object.assign(model, change);
    } else {
      const { dollars, key } = what;
      const { purchase } = request;
      const source = { type: 'Checkout', id } as const;
      const made = await bench.processor.refund(
        { purchase, source, key: `k${key}`, amountUSD: `${dollars}.00` },
        never,
      );
      const earlier = keys.get(key);
      const isFree = model.dispute === 'None' || model.dispute === 'Won';
      const fits = model.state === 'Paid' && isFree && model.refunded + dollars <= 20;
      const isRight = earlier === undefined ? fits : earlier.dollars === dollars;
      if ((made.outcome === 'Refunded') !== isRight) throw new Error(`refund of ${dollars}: ${made.outcome}`);
      if (made.outcome !== 'Refunded') continue;
      if (earlier !== undefined && earlier.id !== made.id) throw new Error('one key paid back twice');
      if (earlier === undefined) model.refunded += dollars;
      keys.set(key, { id: made.id, dollars });
    }
    const payment = await bench.read(id, request);
    const isOver = model.state === 'Open' && bench.now() >= model.expires;
    if (payment.state !== (isOver ? 'Expired' : model.state)) throw new Error(`${payment.state} is not ${model.state}`);
    if (payment.state !== 'Paid') continue;
    const refunded = payment.refunds.reduce((sum, one) => sum + Number(one.amountUSD), 0);
    if (refunded !== model.refunded || refunded > 20) throw new Error(`${refunded} was paid back`);
    const [dispute] = payment.disputes;
    if ((dispute?.state ?? 'None') !== model.dispute) throw new Error(`the dispute is ${dispute?.state}`);
  }
}

test('random actions at three pages: each is paid at most once, never more is paid back than was paid, and invoices have no gaps', async (t) => {
  const bench = await openTestBench(t);
  await fc.assert(
    fc.asyncProperty(stepsOf, (steps) => play(bench, steps)),
    { numRuns: 60 },
  );
  const { rows } = await bench.postgres.pool.query<{ paid: number; last: number; numbered: number }>(
    `SELECT count(*) FILTER (WHERE state = 'Paid') AS paid, max(invoice) AS last, count(invoice) AS numbered FROM test_purchases`,
  );
  const [count] = rows;
  t.true((count?.paid ?? 0) > 20, 'the actions paid often enough to mean something');
  t.is(count?.last, count?.paid);
  t.is(count?.numbered, count?.paid);
});
