/**
 * The prices of this deployment: reads the price book's file, keeps each version in the database, and holds the one that is in use now.
 * A file that does not fit, or that says something else than was kept under its version, is refused whole.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Postgres } from '../../../storage/postgres.js';
import { keepPriceBook, keptPriceBook } from '../../../storage/price-books.js';
import { equalJson } from '../../api/equal.js';
import { LOCAL_OFFERING } from '../../kinds/offering/local.js';
import { checkOfferings, parsePriceBook, type PriceBook } from '../../money/price-book.js';
import { CatalogFault, LARGEST_FILE } from './read-catalog.js';

/** The built program reads the file where it was written. */
const OWN = fileURLToPath(new URL('../../../../ops/catalog/pricebook.yaml', import.meta.url));

export interface Prices {
  /** The book that new work is admitted by. */
  current(): PriceBook;
  /** Reads the file again. Throws a CatalogFault; then the book stays. */
  readAgain(): Promise<void>;
}

export interface PriceBookFile {
  readonly name: string;
  readonly text: string;
  readonly book: PriceBook;
}

/** Reads and checks the file at `path`; unset: the program's own. Throws a CatalogFault with a line for each fault. */
export async function readPriceBook(path: string = OWN): Promise<PriceBookFile> {
  const name = basename(path);
  const fault = (lines: readonly string[]): CatalogFault => new CatalogFault(lines.map((line) => `${name}: ${line}`));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault([`cannot be read: ${error instanceof Error ? error.message : 'unknown error'}`]);
  });
  if (text.length > LARGEST_FILE) throw fault([`is larger than ${LARGEST_FILE} bytes`]);
  const read = parsePriceBook(text);
  if (read.outcome === 'Invalid') throw fault(read.lines);
  const lacking = checkOfferings(read.book, [LOCAL_OFFERING]);
  if (lacking.length > 0) throw fault(lacking);
  return { name, text, book: read.book };
}

/** Throws a CatalogFault when other prices were in use under this version. For any process: a standby finds out at its start. */
export async function checkPrices(file: PriceBookFile, postgres: Postgres): Promise<void> {
  const kept = await keptPriceBook(postgres, file.book.version);
  if (kept !== undefined) checkUnchanged(kept, file);
}

/** For the process that holds the lease. */
export async function openPrices(path: string | undefined, postgres: Postgres): Promise<Prices> {
  const load = async (): Promise<PriceBook> => {
    const file = await readPriceBook(path);
    checkUnchanged(await keepPriceBook(postgres, file.book.version, file.text), file);
    return file.book;
  };
  let book = await load();
  return {
    current: () => book,
    async readAgain() {
      book = await load();
    },
  };
}

/** Comments and layout may differ. */
function checkUnchanged(kept: string, { name, text, book }: PriceBookFile): void {
  if (kept === text) return;
  const before = parsePriceBook(kept);
  if (before.outcome === 'Read' && equalJson(before.book, book)) return;
  const { version } = book;
  throw new CatalogFault([
    `${name}: pricebookVersion: ${version} was in use with other prices, which work may have been admitted by. ` +
      `Give the changed prices a new version, or restore those of ${version}.`,
  ]);
}
