/** The price books that were ever in use, by version. What a version says never changes. Whole store: prices are the same for every org. */
import type { Postgres, Statement } from './postgres.js';

/**
 * Keeps the text of a version, when none of this version is kept yet. Answers the text that is kept: this one, or an earlier one, which
 * the caller compares. The caller holds the lease.
 */
export async function keepPriceBook(postgres: Postgres, version: string, text: string): Promise<string> {
  await postgres.write(KEEP, [version, text]);
  const [row] = await postgres.readRows<[string]>(READ, [version]);
  return row?.[0] ?? text;
}

/** The text that is kept of a version; undefined: none is. For any process. */
export async function keptPriceBook(postgres: Postgres, version: string): Promise<string | undefined> {
  // The table may wait for the lease (`migrate.ts`).
  const [there] = await postgres.readRows<[boolean]>(EXISTS);
  const [row] = there?.[0] === true ? await postgres.readRows<[string]>(READ, [version]) : [];
  return row?.[0];
}

const EXISTS: Statement = { name: 'price books there', text: "SELECT to_regclass('pricebooks') IS NOT NULL" };

/** Result: the version is there, as it was given first. */
const KEEP: Statement = {
  name: 'keep price book',
  text: 'INSERT INTO pricebooks (version, text) VALUES ($1, $2) ON CONFLICT (version) DO NOTHING',
};

const READ: Statement = { name: 'price book', text: 'SELECT text FROM pricebooks WHERE version = $1' };
