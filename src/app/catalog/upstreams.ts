/** Reads the file of upstreams beside the catalog and the prices that it has to fit, and says which Models are served by it. */
import { readFile } from 'node:fs/promises';
import { loadUpstreams } from '../../engines/inference/load-upstreams.js';
import { ECHO_MODEL, type UpstreamsFile } from '../../engines/inference/upstreams-file.js';
import { modelKind } from '../../kinds/model/index.js';
import type { PriceBook } from '../../money/price-book.js';
import { CatalogFault, type CatalogObject } from './read-catalog.js';

export interface Upstreams {
  readonly file: UpstreamsFile;
  /** By the name of the upstream; in memory only (I11). */
  readonly keys: ReadonlyMap<string, string>;
  /** Names of the Models that something of it serves. */
  readonly served: ReadonlySet<string>;
}

/** `path` undefined: the embedded upstream alone. Throws a CatalogFault with a line for each fault. */
export async function readUpstreams(
  path: string | undefined,
  objects: readonly CatalogObject[],
  book: PriceBook,
): Promise<Upstreams> {
  const models = new Set(objects.filter(({ kind }) => kind === modelKind).map(({ address }) => address.name));
  const sources = { env: process.env, readFile: (name: string) => readFile(name, 'utf8') };
  const loaded = await loadUpstreams(path, { models, book }, sources);
  if (loaded.outcome === 'Invalid') throw new CatalogFault(loaded.lines);
  const { file, keys } = loaded;
  const served = new Set(file.upstreams.flatMap((upstream) => upstream.models.map(({ name }) => name)));
  if (file.echo) served.add(ECHO_MODEL);
  return { file, keys, served };
}
