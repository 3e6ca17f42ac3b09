/**
 * Owns the reading of the catalog's data: offerings and images, checked before anything of them is stored. Data that
 * does not fit stops the start with the file and the place in it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Kept } from '../../actors/orgs.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../../src/brand.js';
import { offeringKind } from '../../src/kinds/offering/index.js';
import { LOCAL_OFFERING, localOfferingSpec } from '../../src/kinds/offering/local.js';
import type { ResourceAmounts } from '../../src/kinds/amounts.js';

/** The built program reads the files where they were written. */
const DATA = fileURLToPath(new URL('../../../ops/catalog', import.meta.url));

const entryName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a lower-case name');

const imageEntry = z.strictObject({
  description: z.string().min(1),
  /** Where its files come from. */
  source: z.enum(['machine', 'registry']),
  /** Accelerator without which it does not run. */
  needs: z.enum(['nvidia', 'amd']).optional(),
});

export interface CatalogImage extends z.output<typeof imageEntry> {
  /** As a Job names it: `svc/agent-tools`. */
  readonly reference: string;
}

/**
 * The offerings to keep: this machine's own, when there is an engine with `capacity`, and those of the file.
 * `directory` holds the data; default: the project's.
 */
export const loadOfferings = async (
  capacity: ResourceAmounts | undefined,
  directory: string = DATA,
): Promise<Kept[]> => {
  const specs = await read(join(directory, 'offerings.yaml'), offeringKind.schema.spec);
  const own: [string, unknown][] = capacity === undefined ? [] : [[LOCAL_OFFERING, localOfferingSpec(capacity)]];
  return [...own, ...specs].map(([name, spec]) => ({
    address: { org: CATALOG_ORG, kind: offeringKind.kind, project: '', name },
    spec,
  }));
};

export const loadImages = async (directory: string = DATA): Promise<CatalogImage[]> =>
  (await read(join(directory, 'images.yaml'), imageEntry)).map(([name, entry]) => ({
    reference: `${CATALOG_PROJECT}/${name}`,
    ...entry,
  }));

/** The entries of a file that maps names to values of one form, in its order. */
const read = async <T>(file: string, entry: z.ZodType<T>): Promise<[string, T][]> => {
  const parsed = z.record(entryName, entry).safeParse(parse(await readFile(file, 'utf8')));
  if (parsed.success) return Object.entries(parsed.data);
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new Error(`${file} does not fit: ${faults.join('; ')}`);
};
