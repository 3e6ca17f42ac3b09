/** What requests to models came to, on real Postgres: written with what they are charged, read in pages, swept; and blocks found again. */
import test from 'ava';
import { BLOCK_TERMS } from '../../../src/money/draw.js';
import type { MoneyOperation } from '../../../src/money/operation.js';
import { readBlocks } from '../../../storage/inference/blocks.js';
import { readUse, sweepUse, type UseOfMinute } from '../../../storage/inference/use.js';
import { openFixture, type Fixture } from '../fixtures.js';
import { countOf, place } from '../money.js';

const block = (key: string, amountUSD: string): MoneyOperation => place(key, 'e', amountUSD, { terms: BLOCK_TERMS });
const use = (uid: string, requests: number) => ({ uid, requests, errors: 0, inputTokens: 10, outputTokens: 5 });
const draw = (key: string, number: number, usedUSD: string): MoneyOperation => ({
  ...{ op: 'Draw', key, draw: number, usedUSD, holdUSD: '1', use: use('e', 2) },
});

async function apply(f: Fixture, org: string, ...operations: MoneyOperation[]): Promise<void> {
  const answer = await f.committer.ledger(org, operations);
  if (answer.outcome !== 'Committed') throw new Error(JSON.stringify(answer));
  const wrong = answer.results.find(({ outcome }) => outcome !== 'Applied');
  if (wrong !== undefined) throw new Error(JSON.stringify(wrong));
}

async function all(f: Fixture, since: number, page?: number): Promise<UseOfMinute[]> {
  const rows: UseOfMinute[] = [];
  for await (const some of readUse(f.store.postgres, since, page)) rows.push(...some);
  return rows;
}

test('use of a minute adds up in one row over transactions, and a count alone is written', async (t) => {
  const f = await openFixture(t);
  await apply(f, 'o-1', block('block/1/e/1', '1'), draw('block/1/e/1', 1, '0.25'), { op: 'Count', use: use('e', 1) });
  await apply(f, 'o-1', { op: 'Count', use: { ...use('e', 3), errors: 3 } });
  await apply(f, 'o-1', draw('block/1/e/1', 2, '0.000000001'));
  const rows = await all(f, 0);
  const sum = (of: (row: UseOfMinute) => number): number => rows.reduce((so, row) => so + of(row), 0);
  t.true(rows.length <= 2, 'one row, or two where a minute ended in between');
  t.deepEqual([sum((row) => row.requests), sum((row) => row.errors)], [8, 3]);
  t.deepEqual([sum((row) => row.inputTokens), sum((row) => row.outputTokens)], [40, 20]);
  t.is(
    rows.reduce((so, { costUSD }) => so + costUSD.billionths, 0n),
    250_000_001n,
  );
  t.true(rows.every(({ org, uid, minute }) => org === 'o-1' && uid === 'e' && minute % 60_000 === 0));
});

test('use is read page by page from a time on, and what is older is swept in bounded steps', async (t) => {
  const f = await openFixture(t);
  const minute = 60_000;
  await f.store.postgres.write(
    {
      name: 'minutes',
      text: `
INSERT INTO inference_use SELECT 'o-' || o, 'e-' || e, to_timestamp(m * 60), 1, 0, 0, 0, 0.5
FROM generate_series(1, 2) o, generate_series(1, 2) e, generate_series(1, $1::int) m`,
    },
    [5],
  );
  const keys = (await all(f, 2 * minute, 3)).map(({ org, uid, minute: at }) => `${org} ${uid} ${at / minute}`);
  const expected = ['o-1', 'o-2'].flatMap((org) =>
    ['e-1', 'e-2'].flatMap((uid) => [2, 3, 4, 5].map((at) => `${org} ${uid} ${at}`)),
  );
  t.deepEqual(keys, expected);
  t.deepEqual([await sweepUse(f.store.postgres, 3 * minute, 5), await countOf(f, 'inference_use')], [5, 15]);
  t.deepEqual([await sweepUse(f.store.postgres, 3 * minute, 5), await countOf(f, 'inference_use')], [3, 12]);
  t.is(await sweepUse(f.store.postgres, 3 * minute, 5), 0);
});

test('blocks of all epochs are found by org with what they hold, and no other hold is', async (t) => {
  const f = await openFixture(t);
  await apply(f, 'o-1', block('block/1/e/1', '1.5'), block('block/2/f/7', '0'), place('blocks', 'x', '1'));
  await apply(f, 'o-2', block('block/1/e/1', '2'), place('block', 'x', '1'), place('uid/first', 'x', '1'));
  const expected = new Map([
    [
      'o-1',
      [
        { key: 'block/1/e/1', amountUSD: '1.500000000' },
        { key: 'block/2/f/7', amountUSD: '0.000000000' },
      ],
    ],
    ['o-2', [{ key: 'block/1/e/1', amountUSD: '2.000000000' }]],
  ]);
  t.deepEqual(await readBlocks(f.store.postgres), expected);
  t.deepEqual(await readBlocks(f.store.postgres, 1), expected, 'in pages as well');
});
