/**
 * Checks that what a spec names is there: in the object's own project, or in the catalog. One cause per missing one, by
 * the path of its field; a name that stands there many times is looked for once.
 *
 * I10: at most MOST_NAMED names are looked for, since each may be a read.
 */
import type { Address } from '../../src/api/address.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../../src/brand.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Cause } from '../../src/api/refusal.js';
import type { KindDefinition, Reference } from '../../src/kinds/kind.js';

export interface ReferenceDeps {
  readonly read: (address: Address) => Promise<Buffer | undefined>;
  /** Every object of a kind in one project, for what goes by another name than its own. */
  readonly search: (org: string, kind: string, project: string) => AsyncIterable<readonly Buffer[]>;
}

/** Names in one object. The largest that anybody needs is a Pipeline of a few hundred stages. */
const MOST_NAMED = 2_000;

/** `before`: what the object was. What it named then is not asked for again: it may be gone, and the object goes on. */
export async function checkReferences(
  kind: KindDefinition,
  address: Address,
  object: ApiObject,
  before: ApiObject | undefined,
  deps: ReferenceDeps,
): Promise<readonly Cause[]> {
  const references = kind.references?.(object) ?? [];
  if (references.length === 0) return [];
  if (references.length > MOST_NAMED) {
    const message = `names ${references.length} other objects; at most ${MOST_NAMED} may be named`;
    return [{ field: 'spec', message, reason: 'FieldValueTooMany' }];
  }
  const placeOf = (reference: Reference): string => reference.project ?? address.project;
  const keyOf = (reference: Reference): string => `${reference.kind}/${placeOf(reference)}/${reference.name}`;
  const had = new Set(((before && kind.references?.(before)) ?? []).map(keyOf));
  const looked = new Map<string, ApiObject | undefined>();
  const causes: Cause[] = [];
  for (const reference of references) {
    const key = keyOf(reference);
    if (had.has(key)) continue;
    if (!looked.has(key)) looked.set(key, await find(reference, address.org, placeOf(reference), deps));
    const found = looked.get(key);
    if (found) {
      const message = reference.objection?.(found);
      if (message !== undefined) causes.push({ field: reference.field, message, reason: 'FieldValueInvalid' });
      continue;
    }
    const where = placeOf(reference) === '' ? '' : ` in project "${placeOf(reference)}"`;
    causes.push({
      field: reference.field,
      message: `${reference.kind} "${reference.name}" does not exist${where}`,
      reason: reference.reason ?? 'NotFound',
    });
  }
  return causes;
}

/** What a client should know of the objects that a new one names; one line each. */
export async function warningsOfReferences(
  kind: KindDefinition,
  address: Address,
  object: ApiObject,
  deps: ReferenceDeps,
  now: number,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const reference of kind.references?.(object).slice(0, MOST_NAMED) ?? []) {
    if (reference.warning === undefined) continue;
    const found = await find(reference, address.org, reference.project ?? address.project, deps);
    const warning = found && reference.warning(found, now);
    if (warning !== undefined) warnings.push(`${reference.field}: ${warning}`);
  }
  return warnings;
}

async function find(
  reference: Reference,
  own: string,
  project: string,
  { read, search }: ReferenceDeps,
): Promise<ApiObject | undefined> {
  // The catalog is everybody's, and lives in an org of its own.
  const org = project === CATALOG_PROJECT ? CATALOG_ORG : own;
  const { kind, name } = reference;
  const body = await read({ org, kind, project, name });
  if (body) return decodeObject(body);
  if (!reference.meant) return undefined;
  for await (const bodies of search(org, kind, project)) {
    for (const candidate of bodies) {
      const object = decodeObject(candidate);
      if (reference.meant(object)) return object;
    }
  }
  return undefined;
}
