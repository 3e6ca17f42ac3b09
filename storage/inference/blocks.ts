/**
 * Reads the holds of all blocks (`block/<epoch>/<payer>/<n>`), for the process that begins to lead: those of epochs before its own are of
 * processes that can post nothing any more, and are released before it serves a request. Whole store.
 */
import type { Postgres, Statement } from '../postgres.js';

export interface BlockHold {
  readonly key: string;
  /** What it holds: the most that its process can have used and not posted. */
  readonly amountUSD: string;
}

/** Rows of one page. */
const PAGE = 5_000;

/** By org. Rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export async function readBlocks(
  postgres: Pick<Postgres, 'readRows'>,
  page: number = PAGE,
): Promise<ReadonlyMap<string, readonly BlockHold[]>> {
  const blocks = new Map<string, BlockHold[]>();
  let after: readonly [org: string, key: string] = ['', ''];
  for (;;) {
    const rows = await postgres.readRows<[org: string, key: string, amountUSD: string]>(BLOCKS, [...after, page]);
    for (const [org, key, amountUSD] of rows) {
      const others = blocks.get(org) ?? [];
      blocks.set(org, others);
      others.push({ key, amountUSD });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < page) return blocks;
    after = [last[0], last[1]];
  }
}

// '0' follows '/' in the order of "C".
const BLOCKS: Statement = {
  name: 'blocks',
  text: `
SELECT org, key, amount_usd::text FROM holds
WHERE key >= 'block/' AND key < 'block0' AND (org, key) > ($1, $2)
ORDER BY org, key LIMIT $3`,
};
