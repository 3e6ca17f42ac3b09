/** Blocks where the ledger does not answer: no request is refused for want of money, and what is not posted stays bounded (I10). */
import test from 'ava';
import type { BlockDeps } from '../../../actors/inference/blocks/open.js';
import { applyOperation } from '../../../src/money/apply.js';
import { EMPTY_BOOK, openBook } from '../../../src/money/book.js';
import type { LedgerResult } from '../../../storage/commit/request.js';
import { until as waitUntil } from '../../e2e/until.js';
import { drawing, drawn, openTestBlocks, payerOf, TOKENS, usd, type TestBlocks } from './blocks-fixture.js';

const until = (look: () => boolean | Promise<boolean>): Promise<unknown> => waitUntil('blocks say so', look);
const NOT_NOW = { refusal: { code: 'Unavailable', retryAfterSeconds: 1 } } as const;

interface Silent extends TestBlocks {
  /** What the ledger does from now on: it answers, or with this, or never. */
  become(how: LedgerResult | 'Silent' | 'Well'): void;
  /** ms later. */
  later(ms: number): void;
  readonly ledger: BlockDeps['ledger'];
  spent(): string;
}

function open(t: { teardown(release: () => void): void }): Silent {
  const book = openBook(EMPTY_BOOK);
  let how: LedgerResult | 'Silent' | 'Well' = 'Well';
  let offset = 0;
  const ledger: BlockDeps['ledger'] = async (_, operations) => {
    if (how === 'Silent') return new Promise(() => undefined);
    if (how !== 'Well') return how;
    return { outcome: 'Committed', results: operations.map((operation) => applyOperation(book, operation, 1_000)) };
  };
  // The timers of blocks keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  return {
    ...openTestBlocks(ledger, { now: () => performance.now() + offset }),
    ledger,
    become: (next) => (how = next),
    later: (ms) => (offset += ms),
    spent: () => book.counter('cost/e').spentUSD.toFixed(),
  };
}

test('a ledger that has written nothing refuses no request for money, and what was used is posted once it answers', async (t) => {
  const { blocks, become, spent, problems } = open(t);
  const running = await drawn(blocks, payerOf('e'), '0.05');
  become({ outcome: 'Unavailable', message: 'storage is away' });
  running.settle(usd('0.04'), TOKENS);
  t.like(await drawing(blocks, payerOf('other'), '0.01'), NOT_NOW);
  await until(() => problems.length > 0);
  t.is(spent(), '0');
  become('Well');
  await until(() => spent() === '0.04');
  await drawn(blocks, payerOf('other'), '0.01');
  await blocks.close();
});

test('a process that no longer leads draws and posts nothing more, and says what is not charged', async (t) => {
  const { blocks, become, problems, spent } = open(t);
  const running = await drawn(blocks, payerOf('e'), '0.05');
  become({ outcome: 'Fenced' });
  running.settle(usd('0.04'), TOKENS);
  await until(() => problems.length > 0);
  t.regex(problems.join(), /0\.04 USD of requests of o-1 are not charged: another process leads/);
  become('Well');
  t.like(await drawing(blocks, payerOf('e'), '0.01'), NOT_NOW);
  t.like(await drawing(blocks, payerOf('e', { org: 'o-2' }), '0.01'), NOT_NOW);
  await blocks.close();
  t.is(spent(), '0');
});

test('requests go on in what their block has while the ledger is silent, until what is not posted is ten seconds old', async (t) => {
  const { blocks, become, later } = open(t);
  const running = await drawn(blocks, payerOf('e'), '0.01');
  become('Silent');
  running.settle(usd('0.01'), TOKENS);
  await drawn(blocks, payerOf('e'), '0.01');
  later(10_001);
  t.like(await drawing(blocks, payerOf('e'), '0.01'), NOT_NOW);
});

test('a request waits for a silent ledger for twelve seconds at most, and at most ten thousand do', async (t) => {
  const { blocks, become, later } = open(t);
  become('Silent');
  const first = drawing(blocks, payerOf('e'), '0.01');
  const others = Array.from({ length: 9_999 }, () => drawing(blocks, payerOf('e'), '0.01'));
  t.like(await drawing(blocks, payerOf('e'), '0.01'), NOT_NOW);
  later(12_001);
  // Of another block, so that it does not wait itself.
  void drawing(blocks, payerOf('f'), '0.01');
  await until(async () => {
    blocks.count({ org: 'o-1', endpoint: 'e' }, 'Failed');
    return (await Promise.race([first, Promise.resolve(undefined)])) !== undefined;
  });
  t.like(await first, NOT_NOW);
  t.true((await Promise.all(others)).every((one) => 'refusal' in one && one.refusal.code === 'Unavailable'));
});

test('a request waits while ten USD are not posted, and is admitted when they are', async (t) => {
  const { blocks, become, spent } = open(t);
  const large = await drawn(blocks, payerOf('e'), '11');
  const small = await drawn(blocks, payerOf('e'), '0.01');
  small.settle(usd('0'), TOKENS);
  large.settle(usd('10.5'), TOKENS);
  const waiting = blocks.draw(payerOf('e'), usd('0.01'));
  if (!(waiting instanceof Promise)) return t.fail('it was admitted at once');
  await waiting;
  t.is(spent(), '10.5');
  become('Well');
  await blocks.close();
});
