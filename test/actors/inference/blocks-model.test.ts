/**
 * Blocks against a plain model, in random orders of draws, progress, ends and lost calls, on the rules of the ledger in memory: no limit is
 * passed, nobody with money is refused, and each use is charged once (I7).
 */
import test from 'ava';
import fc from 'fast-check';
import type { BlockDeps } from '../../../actors/inference/blocks/open.js';
import type { Reservation } from '../../../actors/inference/blocks.js';
import { applyOperation } from '../../../src/money/apply.js';
import { EMPTY_BOOK, openBook, type Book } from '../../../src/money/book.js';
import { RefusalError } from '../../../src/api/refusal.js';
import { checkOperation, type MoneyOperation } from '../../../src/money/operation.js';
import { USD } from '../../../src/money/usd.js';
import { openTestBlocks, payerOf, TOKENS } from './blocks-fixture.js';

const NOW = Date.UTC(2026, 10, 12, 12);
const ENDPOINTS = ['e', 'f', 'g'];
const cents = (n: number): USD => new USD(BigInt(n) * 10_000_000n);

type Step =
  | { readonly do: 'draw'; readonly endpoint: string; readonly amount: number }
  | { readonly do: 'progress' | 'settle'; readonly which: number; readonly share: number }
  | { readonly do: 'turns'; readonly turns: number }
  | { readonly do: 'lose' }
  | { readonly do: 'limit'; readonly limit: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ do: fc.constant('draw' as const), endpoint: fc.constantFrom(...ENDPOINTS) },
      amount: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 3 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('progress' as const), which: fc.nat(20), share: fc.nat(120) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(20), share: fc.nat(120) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turns' as const), turns: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'lose' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), limit: fc.integer({ min: 60, max: 150 }) }) },
);

interface Ledger {
  readonly book: Book;
  readonly ledger: BlockDeps['ledger'];
  /** Whether the next call is not written. */
  lose(is: boolean): void;
  now(...operations: MoneyOperation[]): void;
}

function openLedger(): Ledger {
  const book = openBook(EMPTY_BOOK);
  let losing = false;
  const now = (...operations: MoneyOperation[]) =>
    operations.map((operation) => {
      checkOperation(operation);
      return applyOperation(book, operation, NOW);
    });
  return {
    ...{ book, now, lose: (is) => void (losing = is) },
    async ledger(_, operations) {
      await new Promise((resolve) => setImmediate(resolve));
      if (losing) {
        losing = false;
        return { outcome: 'Unavailable', message: 'lost' };
      }
      if (operations.length > 100) throw new Error(`${operations.length} operations at once`);
      const results = now(...operations);
      await new Promise((resolve) => setImmediate(resolve));
      return { outcome: 'Committed', results };
    },
  };
}

interface Running {
  readonly endpoint: string;
  readonly amount: USD;
  readonly reservation: Reservation;
  cost: USD;
}

interface Asking {
  readonly endpoint: string;
  readonly amount: USD;
  /** How much there was at each moment since it asked, and what else was asked for then. */
  readonly seen: Moment[];
  admitted: boolean;
}

interface Moment {
  readonly room: USD;
  /** Before it in its queue, or in those of other endpoints: what is admitted of them was taken then. */
  readonly others: readonly Asking[];
}

function wasPoor({ amount, seen }: Asking): boolean {
  return seen.some(({ room, others }) => {
    const taken = others.filter(({ admitted }) => admitted).map((other) => other.amount);
    return taken.reduce((left, one) => left.minus(one), room).lt(amount);
  });
}

/** What a plain sum over all requests says. */
function openModel(limits: { total: USD; readonly caps: Readonly<Record<string, USD>> }) {
  const running: Running[] = [];
  const asking = new Set<Asking>();
  const spent = new Map(ENDPOINTS.map((endpoint) => [endpoint, new USD(0)]));
  const sum = (amounts: readonly USD[]): USD => amounts.reduce((all, one) => all.plus(one), new USD(0));
  const claimed = (endpoint?: string): USD =>
    sum([
      ...running.filter((one) => (endpoint ?? one.endpoint) === one.endpoint).map(({ amount }) => amount),
      ...[...spent].filter(([of]) => (endpoint ?? of) === of).map(([, cost]) => cost),
    ]);
  const room = (endpoint: string): USD => {
    const cap = limits.caps[endpoint];
    const total = limits.total.minus(claimed());
    return cap === undefined ? total : USD.min(total, cap.minus(claimed(endpoint)));
  };
  return {
    ...{ running, asking, spent, claimed, room },
    look() {
      const before: Asking[] = [];
      for (const one of asking) {
        const elsewhere = [...asking].filter(({ endpoint }) => endpoint !== one.endpoint);
        const ahead = before.filter(({ endpoint }) => endpoint === one.endpoint);
        one.seen.push({ room: room(one.endpoint), others: [...elsewhere, ...ahead] });
        before.push(one);
      }
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function run(all: readonly Step[], withLimits: boolean): Promise<void> {
  const steps = withLimits ? all : all.filter((one) => one.do !== 'limit');
  const { book, ledger, lose, now } = openLedger();
  const limits = { total: cents(100), caps: { f: cents(40) } };
  const setLimit = (): void =>
    now({
      op: 'SetBudget',
      budget: {
        ...{ uid: 'b', name: 'b', limitUSD: limits.total.toFixed(), action: 'Block', period: 'Total', thresholds: [] },
      },
    });
  setLimit();
  now({ op: 'SetCap', uid: 'f', limitUSD: '0.4' });
  const model = openModel(limits);
  const wrong: string[] = [];
  const opened = openTestBlocks(async (org, operations) => {
    const answer = await ledger(org, operations);
    const { spentUSD, heldUSD } = book.counter('budget/b/total');
    if (spentUSD.plus(heldUSD).gt(cents(150))) wrong.push('more than any limit is spent and held');
    const cap = book.counter('cost/f');
    if (cap.spentUSD.plus(cap.heldUSD).gt(limits.caps.f)) wrong.push('the cap is passed');
    return answer;
  });
  const { blocks } = opened;
  const asked: Promise<void>[] = [];
  const refused: Asking[] = [];
  let lowered = false;

  function draw(endpoint: string, amount: USD): void {
    const one: Asking = { endpoint, amount, seen: [], admitted: false };
    const admit = (reservation: Reservation): void => {
      model.asking.delete(one);
      one.admitted = true;
      if (model.room(endpoint).lt(amount) && !amount.isZero() && !lowered)
        wrong.push(`a wrong yes to ${amount.toFixed()} with ${model.room(endpoint).toFixed()}`);
      model.running.push({ endpoint, amount, reservation, cost: new USD(0) });
      model.look();
    };
    const refuse = (error: unknown): void => {
      model.asking.delete(one);
      if (!(error instanceof RefusalError)) wrong.push(String(error));
      else if (error.refusal.code === 'Unavailable') return;
      else refused.push(one);
    };
    model.asking.add(one);
    model.look();
    const answer = blocks.draw(payerOf(endpoint), amount);
    if (answer instanceof Promise) asked.push(answer.then(admit, refuse));
    else admit(answer);
  }

  for (const one of steps) {
    switch (one.do) {
      case 'draw':
        draw(one.endpoint, cents(one.amount));
        break;
      case 'progress':
      case 'settle': {
        const at = model.running.length === 0 ? -1 : one.which % model.running.length;
        const request = model.running[at];
        if (request === undefined) break;
        const cost = new USD((request.amount.billionths * BigInt(one.share)) / 100n);
        if (one.do === 'progress') {
          request.reservation.progress(cost);
          break;
        }
        const charged = request.reservation.settle(cost, TOKENS);
        const expected = USD.min(cost, request.amount);
        if (!charged.eq(expected)) wrong.push(`${charged.toFixed()} were charged, not ${expected.toFixed()}`);
        model.running.splice(at, 1);
        model.spent.set(request.endpoint, (model.spent.get(request.endpoint) ?? new USD(0)).plus(charged));
        break;
      }
      case 'turns':
        await turns(one.turns);
        break;
      case 'lose':
        lose(true);
        break;
      case 'limit':
        if (limits.total.gt(cents(one.limit))) lowered = true;
        limits.total = cents(one.limit);
        setLimit();
        model.look();
        break;
    }
  }
  await Promise.all(asked);
  lose(false);
  for (const one of refused)
    if (!wasPoor(one)) {
      const least = USD.min(cents(1_000), ...one.seen.map(({ room }) => room));
      wrong.push(`a wrong no to ${one.amount.toFixed()} with ${least.toFixed()} at least`);
    }
  for (const { endpoint, amount, reservation } of model.running.splice(0)) {
    reservation.settle(amount, TOKENS);
    model.spent.set(endpoint, (model.spent.get(endpoint) ?? new USD(0)).plus(amount));
  }
  await blocks.close();
  for (const endpoint of ENDPOINTS) {
    const { spentUSD, heldUSD } = book.counter(`cost/${endpoint}`);
    const expected = model.spent.get(endpoint) ?? new USD(0);
    if (!heldUSD.isZero() || !spentUSD.eq(expected))
      wrong.push(
        `${endpoint} has spent ${spentUSD.toFixed()} and holds ${heldUSD.toFixed()}, expected ${expected.toFixed()}`,
      );
  }
  if (book.holds.size > 0) wrong.push('holds are left');
  if (!book.counter('budget/b/total').heldUSD.isZero()) wrong.push('the Budget holds something still');
  if (opened.problems.some((problem) => problem.includes('not charged'))) wrong.push(opened.problems.join('; '));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

test('in any order of draws, progress, ends and lost calls no limit is passed, nobody with money is refused, and each use is charged once', async (t) => {
  t.timeout(120_000);
  // The timers of blocks keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), fc.boolean(), run), {
    numRuns: Number(process.env['BLOCK_RUNS'] ?? 150),
    includeErrorInReport: true,
  });
  t.pass();
});
