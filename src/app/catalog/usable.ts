/**
 * Which entries of the catalogs this deployment can serve. Those that it cannot, such as GPU classes without an engine and models without an
 * upstream, are not listed unless the operator asks for them (`TROUPE_CATALOG_UNUSABLE`). Pure.
 */
import { BRAND } from '../../brand.js';
import { isCatalogImage } from '../../kinds/image/catalog.js';
import { imageKind } from '../../kinds/image/index.js';
import { modelKind } from '../../kinds/model/index.js';
import { LOCAL_REGION } from '../../kinds/offering/local.js';
import { offeringKind } from '../../kinds/offering/index.js';
import type { OfferingSpec } from '../../kinds/offering/schema.js';
import type { CatalogObject } from './read-catalog.js';

export type UnusableEntries = 'hide' | 'list';

/** The service serves it itself. */
export const LOCAL_MODELS: ReadonlySet<string> = new Set(['echo']);

/** `served`: names of the Models that some upstream is configured for, whether it answers now or not. */
export function listedEntries(
  objects: readonly CatalogObject[],
  unusable: UnusableEntries,
  served: ReadonlySet<string> = LOCAL_MODELS,
): readonly CatalogObject[] {
  return unusable === 'list' ? objects : objects.filter((object) => isUsable(object, served));
}

function isUsable({ kind, address, spec }: CatalogObject, served: ReadonlySet<string>): boolean {
  // The only engine is this machine's.
  if (kind === offeringKind) return (spec as OfferingSpec).regionClass === LOCAL_REGION;
  // Of GPUs.
  if (kind === imageKind) return isCatalogImage(`${BRAND}/${address.name}`);
  return kind !== modelKind || served.has(address.name);
}
