/**
 * Which entries of the catalogs this deployment can serve. Those that it cannot, such as GPU classes without an engine and models without an
 * upstream, are not listed unless the operator asks for them (`TROUPE_CATALOG_UNUSABLE`). Pure.
 */
import { BRAND } from '../../src/brand.js';
import { isCatalogImage } from '../../src/kinds/image/catalog.js';
import { imageKind } from '../../src/kinds/image/index.js';
import { LOCAL_REGION } from '../../src/kinds/offering/local.js';
import { modelKind } from '../../src/kinds/model/index.js';
import { offeringKind } from '../../src/kinds/offering/index.js';
import type { OfferingSpec } from '../../src/kinds/offering/schema.js';
import type { CatalogObject } from './read.js';

export type UnusableEntries = 'hide' | 'list';

export function listedEntries(objects: readonly CatalogObject[], unusable: UnusableEntries): readonly CatalogObject[] {
  return unusable === 'list' ? objects : objects.filter(isUsable);
}

function isUsable({ kind, address, spec }: CatalogObject): boolean {
  // The only engine is this machine's.
  if (kind === offeringKind) return (spec as OfferingSpec).regionClass === LOCAL_REGION;
  // Of GPUs.
  if (kind === imageKind) return isCatalogImage(`${BRAND}/${address.name}`);
  // No upstream serves any model yet.
  return kind !== modelKind;
}
