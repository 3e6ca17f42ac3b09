/** Blocks on a real ledger: as many requests as there is money for, each charged what it used, and everything given back at the end (I7). */
import test from 'ava';
import type { BlockDeps } from '../../../actors/inference/blocks/open.js';
import { releaseDeadBlocks } from '../../../actors/inference/blocks/dead-blocks.js';
import { BLOCK_TERMS } from '../../../src/money/draw.js';
import type { MoneyOperation } from '../../../src/money/operation.js';
import { USD } from '../../../src/money/usd.js';
import { readBlocks } from '../../../storage/inference/blocks.js';
import { auditLedger } from '../../../storage/ledger/audit.js';
import { readUse } from '../../../storage/inference/use.js';
import { openFixture, type Fixture } from '../../storage/fixtures.js';
import { openArena } from '../../storage/money-arena.js';
import { budget, countOf, place } from '../../storage/money.js';
import { until as waitUntil } from '../../e2e/until.js';
import { drawing, drawn, NO_TOKENS, openTestBlocks, payerOf, TOKENS, usd, type TestBlocks } from './blocks-fixture.js';

const until = (look: () => boolean | Promise<boolean>): Promise<unknown> => waitUntil('the ledger says so', look);

type Tear = Parameters<typeof openFixture>[0];

async function apply(f: Fixture, ...operations: MoneyOperation[]): Promise<void> {
  const answer = await f.committer.ledger('o-1', operations);
  if (answer.outcome !== 'Committed') throw new Error(JSON.stringify(answer));
}

async function figures(f: Pick<Fixture, 'store'>, counter: string): Promise<{ spent: string; held: string }> {
  const [row] = await f.store.postgres.readRows<[string, string]>(
    {
      name: 'figures',
      text: `SELECT spent_usd::text, held_usd::text FROM counters WHERE org = 'o-1' AND counter = $1`,
    },
    [counter],
  );
  return { spent: usd(row?.[0] ?? '0').toFixed(), held: usd(row?.[1] ?? '0').toFixed() };
}

interface Opened extends TestBlocks {
  readonly f: Fixture;
  readonly calls: (readonly MoneyOperation[])[];
}

/** `most`: what these counters never have more of, spent and held together, after any call of the ledger. */
async function open(t: Tear, most: Record<string, string> = {}, more: Partial<BlockDeps> = {}): Promise<Opened> {
  const f = await openFixture(t);
  const calls: (readonly MoneyOperation[])[] = [];
  const passed: string[] = [];
  const opened = openTestBlocks(async (org, operations) => {
    calls.push(operations);
    const answer = await f.committer.ledger(org, operations);
    for (const [counter, limit] of Object.entries(most)) {
      const { spent, held } = await figures(f, counter);
      if (usd(spent).plus(held).gt(limit)) passed.push(`${counter} has ${spent} and ${held}`);
    }
    return answer;
  }, more);
  t.teardown(async () => {
    await opened.blocks.close();
    if (passed.length > 0) throw new Error(passed.join('; '));
  });
  return { ...opened, f, calls };
}

async function auditIsClean(f: Fixture): Promise<boolean> {
  return (await auditLedger(f.store.postgres, 'o-1')).every(({ type }) => type === 'OrphanHold');
}

test('of 500 requests that come at once under a cap exactly those that fit are admitted, and at the end their cost is all that is spent', async (t) => {
  const { blocks, f, refusals, postedUSD } = await open(t, { 'cost/e': '1' });
  await apply(f, { op: 'SetCap', uid: 'e', limitUSD: '1' });
  const results = await Promise.all(Array.from({ length: 500 }, () => drawing(blocks, payerOf('e'), '0.03')));
  const admitted = results.flatMap((one) => ('reservation' in one ? [one.reservation] : []));
  t.is(admitted.length, 33);
  t.is(refusals(), 467);
  t.is(blocks.running('e'), 33);
  const refused = results.find((one) => 'refusal' in one);
  t.like(refused, {
    refusal: {
      ...{ code: 'BudgetExceeded', retryAfterSeconds: 'Never' },
      message:
        'spec.maxCostUSD of InferenceEndpoint "e" refuses the request: 0.01 USD are left and the request may cost 0.03 USD',
    },
  });
  t.like(await drawing(blocks, payerOf('e'), '0.02'), { refusal: { code: 'BudgetExceeded' } });
  const last = await drawn(blocks, payerOf('e'), '0.01');
  t.is(last.settle(usd('0'), NO_TOKENS).toFixed(), '0');
  for (const [i, reservation] of admitted.entries()) reservation.settle(new USD(BigInt(10_000_000 + i)), TOKENS);
  t.is(blocks.running('e'), 0);
  await blocks.close();
  // 33 times a cent, and 0 to 32 billionths.
  t.deepEqual(await figures(f, 'cost/e'), { spent: '0.330000528', held: '0' });
  t.is(postedUSD(), '0.330000528');
  t.is(await countOf(f, 'holds'), 0);
  t.true(await auditIsClean(f));
  let use = { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0 };
  for await (const rows of readUse(f.store.postgres, 0))
    for (const row of rows)
      use = {
        requests: use.requests + row.requests,
        errors: use.errors + row.errors,
        inputTokens: use.inputTokens + row.inputTokens,
        outputTokens: use.outputTokens + row.outputTokens,
      };
  t.deepEqual(use, { requests: 34, errors: 1, inputTokens: 99, outputTokens: 66 });
});

test('a request draws at once what its block has free, and its use is posted within a moment', async (t) => {
  const { blocks, f, calls } = await open(t);
  const first = await drawn(blocks, payerOf('e'), '0.01');
  const made = calls.length;
  const second = blocks.draw(payerOf('e'), usd('0.01'));
  if (second instanceof Promise) return t.fail('it asked the ledger');
  t.is(calls.length, made);
  t.is(second.settle(usd('0.02'), TOKENS).toFixed(), '0.01', 'no more than it has drawn');
  t.is(second.settle(usd('0.005'), TOKENS).toFixed(), '0.01', 'once');
  first.progress(usd('0.002'));
  first.settle(usd('0.004'), TOKENS);
  await until(async () => (await figures(f, 'cost/e')).spent === '0.014');
  // Nobody uses the block any more.
  await until(async () => (await countOf(f, 'holds')) === 0);
  t.is((await figures(f, 'cost/e')).held, '0');
});

test('what a stream has cost so far is an estimate: nothing is charged before its end, and then what it came to, though that is less', async (t) => {
  const { blocks, f } = await open(t);
  const stream = await drawn(blocks, payerOf('e'), '0.5');
  const toldOf = async (): Promise<unknown> => {
    const [[held] = [undefined]] = await f.store.postgres.readRows<[string | null]>({
      name: 'under way',
      text: "SELECT body::json->>'underWayUSD' FROM holds",
    });
    return held ?? undefined;
  };
  stream.progress(usd('0.3'));
  await until(async () => (await toldOf()) === '0.3');
  t.is((await figures(f, 'cost/e')).spent, '0');
  t.is(stream.settle(usd('0.02'), TOKENS).toFixed(), '0.02');
  await until(async () => (await figures(f, 'cost/e')).spent === '0.02');
  t.is(await toldOf(), undefined, 'it is not under way any more');
});

test('a smaller request behind a larger one is admitted where only the smaller one fits', async (t) => {
  const { blocks, f } = await open(t, { 'budget/b/total': '1' });
  await apply(f, budget('b', '1'));
  const results = await Promise.all(
    ['0.6', '0.7', '0.3', '0.2', '0.1'].map((one) => drawing(blocks, payerOf('e'), one)),
  );
  t.deepEqual(
    results.map((one) => 'reservation' in one),
    [true, false, true, false, true],
  );
  t.like(results[1], { refusal: { code: 'BudgetExceeded', retryAfterSeconds: 'Never' } });
});

test('what another endpoint holds ahead under the same Budget is given back before a request is refused', async (t) => {
  const { blocks, f, funding } = await open(t, { 'budget/b/total': '1' });
  await apply(f, budget('b', '1'));
  const idle = await drawn(blocks, payerOf('idle'), '0.01');
  t.is((await figures(f, 'budget/b/total')).held, '0.11', 'a tenth of a USD ahead');
  const all = await drawn(blocks, payerOf('e'), '0.99');
  t.like(await drawing(blocks, payerOf('e'), '0.01'), { refusal: { code: 'BudgetExceeded' } });
  t.deepEqual(await figures(f, 'budget/b/total'), { spent: '0', held: '1' });
  idle.settle(usd('0'), NO_TOKENS);
  // What has ended counts at once, though nothing is posted.
  const more = await drawn(blocks, payerOf('e'), '0.01');
  t.deepEqual(funding, [
    ['e', 'Budget'],
    ['e', undefined],
  ]);
  for (const one of [all, more]) one.settle(usd('0.01'), TOKENS);
  await blocks.close();
  t.deepEqual(await figures(f, 'budget/b/total'), { spent: '0.02', held: '0' });
});

test('in a wallet that is paid in advance requests hold no more than it has, and say whether credits are missing or owed', async (t) => {
  const { blocks, f } = await open(t);
  await apply(f, { op: 'SetMode', mode: 'Prepaid' }, { op: 'Credit', grant: 'g', amountUSD: '0.5' });
  const results = await Promise.all(Array.from({ length: 8 }, () => drawing(blocks, payerOf('e'), '0.1')));
  const admitted = results.flatMap((one) => ('reservation' in one ? [one.reservation] : []));
  t.is(admitted.length, 5);
  t.like(results[7], { refusal: { code: 'InsufficientCredits', retryAfterSeconds: 'Never' } });
  for (const one of admitted) one.settle(usd('0.1'), TOKENS);
  await until(async () => (await figures(f, 'wallet')).spent === '0.5');
  const [posting] = await f.store.postgres.readRows<[string]>({
    name: 'use',
    text: `SELECT key FROM postings WHERE reason = 'Use'`,
  });
  await apply(f, { op: 'Correct', posting: posting?.[0] ?? '', amountUSD: '0.25', once: 'x' });
  t.like(await drawing(blocks, payerOf('e'), '0.1'), {
    refusal: {
      ...{ code: 'ArrearsOutstanding', retryAfterSeconds: 'Never' },
      message: 'the wallet refuses the hold of 0.10 USD: 0.25 USD are owed and have to be paid first',
    },
  });
});

test('a Budget that is made while a block stands counts its next use, and refuses what it has no room for', async (t) => {
  const { blocks, f, posted } = await open(t);
  const running = await drawn(blocks, payerOf('e'), '0.3');
  await apply(f, budget('b', '0.35'));
  running.settle(usd('0.3'), TOKENS);
  await until(() => posted.length === 1);
  t.is((await figures(f, 'budget/b/total')).spent, '0.3');
  t.like(await drawing(blocks, payerOf('e'), '0.06'), { refusal: { code: 'BudgetExceeded' } });
  const fits = await drawn(blocks, payerOf('e'), '0.05');
  t.deepEqual(await figures(f, 'budget/b/total'), { spent: '0.3', held: '0.05' });
  fits.settle(usd('0.05'), TOKENS);
});

test('what ends under a Budget that was lowered below it is given back, and no new request draws on it', async (t) => {
  const { blocks, f, posted } = await open(t);
  await apply(f, budget('b', '5'));
  const long = await Promise.all(Array.from({ length: 4 }, () => drawn(blocks, payerOf('e'), '1')));
  await apply(f, budget('b', '0.1'));
  const [first, second, ...others] = long;
  first?.settle(usd('0.01'), TOKENS);
  await until(() => posted.length === 1);
  t.like(await drawing(blocks, payerOf('e'), '0.01'), { refusal: { code: 'BudgetExceeded' } });
  second?.settle(usd('0.01'), TOKENS);
  t.like(await drawing(blocks, payerOf('e'), '0.01'), { refusal: { code: 'BudgetExceeded' } });
  for (const one of others) one.settle(usd('0.01'), TOKENS);
  await until(async () => (await figures(f, 'budget/b/total')).held === '0');
  const fits = await drawn(blocks, payerOf('e'), '0.06');
  t.deepEqual(await figures(f, 'budget/b/total'), { spent: '0.04', held: '0.06' });
  fits.settle(usd('0.06'), TOKENS);
});

test('requests that nothing was charged for are counted within a second or two, in one write', async (t) => {
  const { blocks, f, calls, posted } = await open(t);
  for (let i = 0; i < 50; i++) blocks.count({ org: 'o-1', endpoint: i % 2 === 0 ? 'e' : 'g' }, 'Failed');
  await until(() => posted.length === 2);
  t.deepEqual(
    posted.map(({ endpoint, use }) => [endpoint, use.requests, use.errors]),
    [
      ['e', 25, 25],
      ['g', 25, 25],
    ],
  );
  t.is(calls.length, 1);
  t.is(await countOf(f, 'inference_use WHERE errors = 25 AND cost_usd = 0'), 2);
});

test('a request that can cost nothing needs no hold, and is no error when it has used tokens', async (t) => {
  const { blocks, posted, f } = await open(t);
  const free = blocks.draw(payerOf('e'), usd('0'));
  if (free instanceof Promise) return t.fail('it asked the ledger');
  free.settle(usd('0'), TOKENS);
  await until(() => posted.length === 1);
  t.like(posted[0], { endpoint: 'e', use: { requests: 1, errors: 0, inputTokens: 3, outputTokens: 2 } });
  t.is(await countOf(f, 'holds'), 0);
});

test('requests whose endpoint is deleted under them are charged what they produced, and no hold stays for them', async (t) => {
  const { blocks, f, gone, problems } = await open(t);
  await apply(f, budget('b', '1'));
  const [running, ended] = [await drawn(blocks, payerOf('e'), '0.3'), await drawn(blocks, payerOf('e'), '0.3')];
  const [[key] = ['']] = await f.store.postgres.readRows<[string]>({ name: 'key', text: 'SELECT key FROM holds' });
  await apply(f, { op: 'Release', key });
  ended.settle(usd('0.2'), TOKENS);
  await until(() => gone.length === 1);
  t.deepEqual(gone, ['e']);
  await until(async () => (await figures(f, 'budget/b/total')).spent === '0.2');
  running.settle(usd('0.25'), TOKENS);
  await until(async () => (await figures(f, 'budget/b/total')).spent === '0.45');
  t.is((await figures(f, 'cost/e')).spent, '0.45');
  t.is(await countOf(f, 'holds'), 0);
  t.deepEqual(problems, []);
});

test('what a deleted endpoint owes and nobody has money for is said with its figure, and passes no limit', async (t) => {
  const { blocks, f, problems } = await open(t);
  await apply(f, budget('b', '0.35'));
  const running = await drawn(blocks, payerOf('e'), '0.3');
  const [[key] = ['']] = await f.store.postgres.readRows<[string]>({ name: 'key', text: 'SELECT key FROM holds' });
  await apply(f, { op: 'Release', key });
  await apply(f, budget('b', '0.1'));
  running.settle(usd('0.3'), TOKENS);
  await until(() => problems.length > 0);
  t.regex(problems.join(), /^0\.3 USD of requests through e of o-1, which was deleted, find no money$/);
  t.deepEqual(await figures(f, 'budget/b/total'), { spent: '0', held: '0' });
});

test('when the service ends, what runs is charged what it has cost so far, all holds are given back, and nothing is drawn any more', async (t) => {
  const { blocks, f, stop } = await open(t);
  const stream = await drawn(blocks, payerOf('e'), '0.5');
  stream.progress(usd('0.2'));
  stop();
  t.like(await drawing(blocks, payerOf('e'), '0.001'), { refusal: { code: 'Unavailable', retryAfterSeconds: 1 } });
  await blocks.close();
  t.deepEqual(await figures(f, 'cost/e'), { spent: '0.2', held: '0' });
  stream.settle(usd('0.4'), TOKENS);
  await blocks.close();
  t.is((await figures(f, 'cost/e')).spent, '0.2');
  t.is(await countOf(f, 'holds'), 0);
});

test('blocks of dead epochs are released before the first request, and the most that is lost is said', async (t) => {
  const f = await openFixture(t);
  const dead = Array.from({ length: 150 }, (_, i) => place(`block/1/e/${i}`, 'e', '0.01', { terms: BLOCK_TERMS }));
  await apply(f, ...dead, place('work', 'x', '1'));
  const problems: string[] = [];
  await releaseDeadBlocks({
    read: () => readBlocks(f.store.postgres),
    ledger: f.committer.ledger,
    onProblem: (message) => problems.push(message),
  });
  t.is(await countOf(f, 'holds'), 1, 'of work that is no block');
  t.regex(problems.join(), /150 blocks of o-1 .* at most 1\.5 USD/);
});

test('of a process that died what its streams had used is charged, as it said last, and no more than they held', async (t) => {
  const f = await openFixture(t);
  const key = (of: string): string => `block/1/${of}/0`;
  const draw = { op: 'Draw', draw: 1, usedUSD: '0.1' } as const;
  for (const [of, held, underWayUSD] of [
    ['e', '0.4', '0.25'],
    ['g', '0.2', '0.25'],
  ] as const)
    await apply(f, place(key(of), of, '1', { terms: BLOCK_TERMS }), {
      ...draw,
      ...{ key: key(of), holdUSD: held, underWayUSD },
    });
  t.is((await figures(f, 'cost/e')).spent, '0.1');
  await releaseDeadBlocks({
    read: () => readBlocks(f.store.postgres),
    ledger: f.committer.ledger,
    onProblem: () => undefined,
  });
  t.deepEqual(await figures(f, 'cost/e'), { spent: '0.35', held: '0' });
  t.deepEqual(await figures(f, 'cost/g'), { spent: '0.3', held: '0' });
});

test('at the end of a month blocks go on, and each month is charged what was posted in it', async (t) => {
  const arena = await openArena(t);
  const f = { store: { postgres: arena.postgres } } as Pick<Fixture, 'store'>;
  const { blocks } = openTestBlocks((org, operations) => arena.ledger(org, operations));
  t.teardown(() => blocks.close());
  const now = new Date(arena.now());
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);
  await arena.move(end - arena.now() - 60_000);
  await arena.ledger('o-1', [budget('b', '1', { period: 'Monthly' })]);
  const first = await drawn(blocks, payerOf('e'), '0.4');
  const second = await drawn(blocks, payerOf('e'), '0.4');
  first.settle(usd('0.4'), TOKENS);
  await until(async () => (await figures(f, `budget/b/${monthOf(end - 1)}`)).spent === '0.4');
  await arena.move(120_000);
  second.settle(usd('0.3'), TOKENS);
  await until(async () => (await figures(f, `budget/b/${monthOf(end)}`)).spent === '0.3');
  t.is((await figures(f, `budget/b/${monthOf(end - 1)}`)).spent, '0.4');
  const large = await drawn(blocks, payerOf('e'), '0.7');
  t.like(await drawing(blocks, payerOf('e'), '0.01'), { refusal: { code: 'BudgetExceeded' } });
  large.settle(usd('0'), NO_TOKENS);
  await blocks.close();
  t.deepEqual(await figures(f, `budget/b/${monthOf(end)}`), { spent: '0.3', held: '0' });
  await arena.settle();
});

test('where answers of the ledger are lost, each use is charged once', async (t) => {
  const arena = await openArena(t);
  const f = { store: { postgres: arena.postgres } } as Pick<Fixture, 'store'>;
  const { blocks, postedUSD } = openTestBlocks((org, operations) => arena.ledger(org, operations));
  await arena.ledger('o-1', [{ op: 'SetCap', uid: 'e', limitUSD: '10' }]);
  let sum = usd('0');
  for (const how of ['answer', 'commit', 'answer', 'commit'] as const) {
    const reservations = await Promise.all(Array.from({ length: 20 }, () => drawn(blocks, payerOf('e'), '0.01')));
    arena.cut(how);
    for (const one of reservations) sum = sum.plus(one.settle(usd('0.007'), TOKENS));
    await until(() => postedUSD() === sum.toFixed());
  }
  await blocks.close();
  t.deepEqual(await figures(f, 'cost/e'), { spent: '0.56', held: '0' });
  await arena.settle();
});

test('an endpoint that money has refused is told that there is some again, without a request, and holds nothing for it', async (t) => {
  let later = 0;
  const { blocks, f, funding } = await open(t, {}, { now: () => performance.now() + later });
  await apply(f, budget('b', '1'));
  t.like(await drawing(blocks, payerOf('e'), '2'), { refusal: { code: 'BudgetExceeded' } });
  t.deepEqual(funding, [['e', 'Budget']]);
  // Asked again, there is too little still.
  later += 11_000;
  await drawn(blocks, payerOf('other'), '0.1');
  await apply(f, budget('b', '1.5'));
  later += 11_000;
  await drawn(blocks, payerOf('other'), '0.1');
  t.deepEqual(funding, [['e', 'Budget']]);
  await apply(f, budget('b', '10'));
  later += 11_000;
  await drawn(blocks, payerOf('other'), '0.1');
  await until(() => funding.length === 2);
  t.deepEqual(funding[1], ['e', undefined]);
  const held = (await readBlocks(f.store.postgres)).get('o-1') ?? [];
  t.deepEqual(
    held.filter(({ key }) => key.includes('/e/')),
    [],
  );
});

test('an endpoint that an earlier process has told of is told too', async (t) => {
  const { blocks, funding } = await open(t);
  blocks.refusedBefore(payerOf('e'));
  await until(() => funding.length === 1);
  t.deepEqual(funding, [['e', undefined]]);
});
