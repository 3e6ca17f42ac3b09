/** Reads the file of upstreams and the keys that it names. Both are refused whole when they do not fit, with a line for each fault. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { readKeys } from '../../engines/inference/upstream-keys.js';
import {
  ECHO_MODEL,
  parseUpstreams,
  withoutFile,
  type Catalog,
  type UpstreamsFile,
} from '../../engines/inference/upstreams-file.js';
import { modelKind } from '../../kinds/model/index.js';
import type { PriceBook } from '../../money/price-book.js';
import { CatalogFault, LARGEST_FILE, type CatalogObject } from './read-catalog.js';

export interface Upstreams {
  readonly file: UpstreamsFile;
  /** By the name of the upstream; in memory only (I11). */
  readonly keys: ReadonlyMap<string, string>;
  /** Names of the Models that something of it serves. */
  readonly served: ReadonlySet<string>;
}

/** `path` undefined: the embedded upstream alone. Throws a CatalogFault. */
export async function readUpstreams(
  path: string | undefined,
  objects: readonly CatalogObject[],
  book: PriceBook,
): Promise<Upstreams> {
  const models = new Set(objects.filter(({ kind }) => kind === modelKind).map(({ address }) => address.name));
  const file = await readUpstreamsFile(path, { models, book });
  const read = await readKeys(file.upstreams, { env: process.env, readFile: (name) => readFile(name, 'utf8') });
  if (read.outcome === 'Invalid') throw faultOf(path, read.lines);
  const served = new Set(file.upstreams.flatMap((upstream) => upstream.models.map(({ name }) => name)));
  if (file.echo) served.add(ECHO_MODEL);
  return { file, keys: read.keys, served };
}

async function readUpstreamsFile(path: string | undefined, catalog: Catalog): Promise<UpstreamsFile> {
  if (path === undefined) return withoutFile(catalog);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw faultOf(path, [`cannot be read: ${error instanceof Error ? error.message : 'unknown error'}`]);
  });
  if (text.length > LARGEST_FILE) throw faultOf(path, [`is larger than ${LARGEST_FILE} bytes`]);
  const read = parseUpstreams(text, catalog);
  if (read.outcome === 'Invalid') throw faultOf(path, read.lines);
  return read.file;
}

function faultOf(path = '', lines: readonly string[]): CatalogFault {
  return new CatalogFault(lines.map((line) => `${basename(path)}: ${line}`));
}
