/**
 * Reads the catalogs' files: one per kind, name → spec as in the API. They are checked by the very schemas
 * that clients' objects are, and against each other, before anything of them is stored. All faults are reported, one
 * line each with the file, the entry and the field.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Address } from '../../api/address.js';
import type { ApiObject } from '../../api/object.js';
import { isObject } from '../../api/safe-value.js';
import { readYaml, type YamlResult } from '../../api/yaml.js';
import { API_GROUP, CATALOG_ORG, CATALOG_PROJECT } from '../../brand.js';
import type { ResourceAmounts } from '../../kinds/amounts.js';
import { environmentKind } from '../../kinds/environment/index.js';
import { imageKind } from '../../kinds/image/index.js';
import { modelKind } from '../../kinds/model/index.js';
import type { KindDefinition } from '../../kinds/kind.js';
import type { ModelSpec } from '../../kinds/model/schema.js';
import { offeringKind } from '../../kinds/offering/index.js';
import { LOCAL_OFFERING, localOfferingSpec } from '../../kinds/offering/local.js';
import { trainingRuntimeKind } from '../../kinds/trainingruntime/index.js';
import type { PriceBook } from '../../money/price-book.js';
import { checkName } from '../../kinds/write/identity.js';
import { noComplaints, readSpec } from '../../kinds/write/validate.js';

/** The built program reads the files where they were written. */
const DATA = fileURLToPath(new URL('../../../../ops/catalog', import.meta.url));

/** YAML is read without a pause, at 1 to 3 ms per kilobyte. */
export const LARGEST_FILE = 512 * 1024;

/** Of each kind one file. What others name comes first, so that it is there when they are written. */
export const CATALOG_FILES: readonly (readonly [file: string, kind: KindDefinition])[] = [
  ['images.yaml', imageKind],
  ['trainingruntimes.yaml', trainingRuntimeKind],
  ['environments.yaml', environmentKind],
  ['models.yaml', modelKind],
  ['offerings.yaml', offeringKind],
];

export interface CatalogObject {
  readonly kind: KindDefinition;
  readonly address: Address;
  /** With its defaults. */
  readonly spec: unknown;
  /** Of what its status depends on beside its spec: the object is written again when they change. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** What does not fit, a line each. */
export class CatalogFault extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'CatalogFault';
    this.lines = lines;
  }
}

/** The version of the prices in an Offering's status. */
const PRICEBOOK = `${API_GROUP}/pricebook`;

interface Entry extends CatalogObject {
  readonly file: string;
}

/**
 * All objects of the catalogs, in the order in which they are to be written. `capacity` is what this machine has, when it
 * runs work: its own offering. `prices` has what Models cost. Throws a CatalogFault.
 */
export async function readCatalog(
  capacity: ResourceAmounts | undefined,
  prices: PriceBook,
  directory: string = DATA,
): Promise<readonly CatalogObject[]> {
  const faults: string[] = [];
  const entries: Entry[] = [];
  for (const [file, kind] of CATALOG_FILES) {
    const listed = await readEntries(join(directory, file), file, faults);
    if (kind === offeringKind && capacity !== undefined) listed.unshift([LOCAL_OFFERING, localOfferingSpec(capacity)]);
    for (const [name, given] of listed) {
      const fault = (text: string): void => void faults.push(`${file}: ${name}: ${text}`);
      const spec = checkEntry(kind, name, kind === modelKind ? withPrices(name, given, prices, fault) : given, fault);
      const project = kind.scope === 'project' ? CATALOG_PROJECT : '';
      const address = { org: CATALOG_ORG, kind: kind.kind, project, name };
      const annotations = kind === offeringKind ? { [PRICEBOOK]: prices.version } : undefined;
      if (spec !== undefined) entries.push({ file, kind, address, spec, annotations });
    }
  }
  // Between entries only once each is good: what a bad one says would only repeat its own fault.
  if (faults.length === 0) faults.push(...faultsBetween(entries));
  if (faults.length > 0) throw new CatalogFault(faults);
  return entries;
}

async function readEntries(path: string, file: string, faults: string[]): Promise<[string, unknown][]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    faults.push(`${file}: cannot be read: ${error instanceof Error ? error.message : 'unknown error'}`);
    return [];
  }
  if (text.length > LARGEST_FILE) {
    faults.push(`${file}: is larger than ${LARGEST_FILE} bytes`);
    return [];
  }
  const read = parsed(path, text);
  if (read.outcome !== 'Read') {
    faults.push(`${file}: ${read.problem.replace('the body', 'the file')}`);
    return [];
  }
  for (const twice of read.duplicates) faults.push(`${file}: ${twice}: stands there twice`);
  if (read.value === null) return [];
  if (isObject(read.value)) return Object.entries(read.value);
  faults.push(`${file}: must map names to specs`);
  return [];
}

/** Of each file what it held last: a start reads all of them twice, and parsing is most of that. */
const known = new Map<string, { readonly text: string; readonly read: YamlResult }>();

function parsed(path: string, text: string): YamlResult {
  const last = known.get(path);
  if (last?.text === text) return last.read;
  const read = readYaml(text);
  known.set(path, { text, read });
  return read;
}

/** A Model with what it costs. It is said in one place. */
function withPrices(
  name: string,
  given: unknown,
  { version, models }: PriceBook,
  fault: (text: string) => void,
): unknown {
  if (!isObject(given)) return given;
  if (given['pricing'] !== undefined) {
    fault(`spec.pricing: is said by the price book. Move the prices to models.${name} of pricebook.yaml.`);
  }
  const price = Object.hasOwn(models, name) ? models[name] : undefined;
  if (price === undefined) return given;
  // The API has no field for it.
  const { longCacheWritePerMillionTokensUSD: _, ...shown } = price;
  return { ...given, pricing: { ...shown, pricebookVersion: version } };
}

/** The spec with its defaults; undefined when it is not valid. */
function checkEntry(kind: KindDefinition, name: string, given: unknown, fault: (text: string) => void): unknown {
  const complaints = noComplaints();
  const badName = checkName(kind, name);
  if (badName !== undefined) fault(badName.message);
  const spec = readSpec(kind, given, complaints);
  for (const path of complaints.unknown) fault(`${path}: there is no such field`);
  for (const { field, message } of complaints.causes) fault(`${field}: ${message}`);
  return badName === undefined && complaints.unknown.length === 0 ? spec : undefined;
}

/** What entries name must be in the catalog as well, and no two of them may go by one name. */
function faultsBetween(entries: readonly Entry[]): string[] {
  const faults: string[] = [];
  const objects = new Map(entries.map((queued) => [`${queued.address.kind}/${queued.address.name}`, asObject(queued)]));
  const taken = new Map<string, Entry>();
  for (const queued of entries) {
    const { file, kind, address, spec } = queued;
    const fault = (text: string): void => void faults.push(`${file}: ${address.name}: ${text}`);
    for (const name of [address.name, ...(kind === modelKind ? otherNames(spec as ModelSpec) : [])]) {
      const key = `${address.kind}/${name}`;
      const holder = taken.get(key);
      if (holder !== undefined && holder !== queued) fault(`"${name}" is the name of ${holder.address.name} as well`);
      taken.set(key, queued);
    }
    for (const reference of kind.references?.(asObject(queued)) ?? []) {
      const found = objects.get(`${reference.kind}/${reference.name}`);
      if (found === undefined || (reference.project ?? CATALOG_PROJECT) !== CATALOG_PROJECT) {
        fault(`${reference.field}: ${reference.kind} "${reference.name}" is not in the catalog`);
        continue;
      }
      const objection = reference.objection?.(found);
      if (objection !== undefined) fault(`${reference.field}: ${objection}`);
    }
  }
  return faults;
}

function otherNames({ id, aliases = [] }: ModelSpec): string[] {
  return id === undefined ? [...aliases] : [id, ...aliases];
}

/** The entry as the object that it will be, as far as its rules look at it. */
function asObject({ kind, address, spec }: CatalogObject): ApiObject {
  const metadata = { name: address.name, namespace: address.project, uid: '', generation: 1, creationTimestamp: '' };
  return { apiVersion: '', kind: kind.kind, metadata, spec, status: undefined };
}
