/** The embedded test processor on a real Postgres, with a clock that the test sets. */
import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ExecutionContext } from 'ava';
import type { CheckoutRequest, PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { DeskAction, DeskOutcome, TestDesk } from '../../src/engines/payments/test/desk.js';
import { openTestProcessor } from '../../src/engines/payments/test/open-processor.js';
import type { Payment, Purchase } from '../../src/kinds/topup/payment.js';
import { migrate } from '../../storage/migrate.js';
import { openTestCheckouts, type TestCheckouts } from '../../storage/payments/test-checkouts.js';
import { openPostgres, type Postgres } from '../../storage/postgres.js';
import { openTestDatabase } from '../support/postgres.js';
import type { Bench } from './contract.js';

export const never = new AbortController().signal;
setMaxListeners(0, never);
export const HOUR = 3_600_000;

export interface TestBench {
  readonly processor: PaymentProcessor;
  readonly desk: TestDesk;
  readonly rows: TestCheckouts;
  readonly postgres: Postgres;
  /** ms. */
  now(): number;
  pass(ms: number): void;
  /** What a checkout asks for, each with a key of its own unless `more` has one. */
  request(more?: Partial<CheckoutRequest>): CheckoutRequest;
  /** Opens a page; its id. */
  open(more?: Partial<CheckoutRequest>): Promise<string>;
  act(id: string, action: DeskAction['action'], saveCard?: boolean): Promise<DeskOutcome>;
  /** How the purchase of a page stands. */
  read(id: string, request: CheckoutRequest): Promise<Payment>;
}

export const PURCHASE: Purchase = { org: 'acme', name: 'first', uid: 'uid-first' };

export async function openTestBench(
  t: Pick<ExecutionContext, 'teardown'>,
  base = 'https://troupe.test',
): Promise<TestBench> {
  const database = await openTestDatabase(t);
  const postgres = openPostgres({ url: database.url });
  t.teardown(() => postgres.close());
  await migrate(postgres);
  let time = Date.UTC(2026, 10, 27, 12);
  const rows = openTestCheckouts(postgres);
  const { processor, desk } = openTestProcessor(rows, { base, clock: () => time, randomBytes });
  let keys = 0;

  const request: TestBench['request'] = (more = {}) => ({
    purchase: PURCHASE,
    key: `key-${++keys}`,
    amountUSD: '20.00',
    expires: time + HOUR,
    saveCard: false,
    doneURL: `${base}/payments/done/uid-first/token`,
    cancelURL: `${base}/payments/cancelled/uid-first/token`,
    ...more,
  });

  return {
    ...{ processor, desk, rows, postgres, request },
    now: () => time,
    pass(ms) {
      time += ms;
    },
    async open(more) {
      const opened = await processor.openCheckout(request(more), never);
      if (opened.outcome !== 'Opened') throw new Error(`the page was not opened: ${opened.outcome}`);
      return opened.id;
    },
    act: (id, action, saveCard = false) => desk.act(id, action === 'Pay' ? { action, saveCard } : { action }),
    async read(id, { purchase, amountUSD }) {
      const known = await processor.read(purchase, { type: 'Checkout', id }, amountUSD, never);
      if (known.outcome !== 'Known') throw new Error(`the purchase is ${known.outcome}`);
      return known.payment;
    },
  };
}

/** The same processor, as the contract has it. It cannot fail a refund, and declines cards by the amount alone. */
export async function openContractBench(): Promise<Bench> {
  const ends: (() => unknown)[] = [];
  const bench = await openTestBench({ teardown: (end) => void ends.unshift(end) });
  const act = async (page: string, action: DeskAction['action'], saveCard?: boolean): Promise<void> => {
    const { outcome } = await bench.act(page, action, saveCard);
    if (outcome !== 'Done') throw new Error(`${action} at ${page} is ${outcome}`);
  };
  return {
    processor: bench.processor,
    payer: {
      // Whether a card is kept, the page decides.
      pay: (page, way) => act(page, way === 'Card' ? 'Pay' : 'PayByBank', true),
      decline: (page) => act(page, 'Decline'),
      bankPays: (page) => act(page, 'BankPays'),
      bankRefuses: (page) => act(page, 'BankRefuses'),
      dispute: (page) => act(page, 'Dispute'),
      winDispute: (page) => act(page, 'WinDispute'),
      loseDispute: (page) => act(page, 'LoseDispute'),
      async expire(page) {
        const { expires = 0 } = (await bench.rows.find(page)) ?? {};
        bench.pass(Math.max(0, expires - bench.now()));
      },
    },
    now: bench.now,
    async close() {
      for (const end of ends) await end();
    },
  };
}
