/**
 * Owns which valid fields of a Sandbox this service does not carry out yet. One that uses any is refused with 501 naming the
 * field: nothing is accepted and ignored. A later feature removes its lines here.
 */
import { isCatalogImage } from '../image/catalog.js';
import type { Images } from '../work.js';
import type { SandboxSpec } from './schema.js';

/** Paths of the fields, in the order of the schema; empty when all of the spec is carried out. */
export function unsupportedFields(spec: SandboxSpec, images: Images): readonly string[] {
  const found: string[] = [];
  // They would be those of the image's own program, and catalog images have none.
  if (spec.command === undefined && (spec.args ?? []).length > 0) found.push('spec.args');
  if (images === 'Catalog' && !isCatalogImage(spec.image)) found.push('spec.image');
  if (spec.maxCostUSD !== undefined) found.push('spec.maxCostUSD');
  return found;
}
