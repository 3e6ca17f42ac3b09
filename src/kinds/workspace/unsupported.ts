/**
 * Owns which valid fields of a Workspace this service does not carry out yet. One that uses any is refused with 501 naming the
 * field: nothing is accepted and ignored. A later feature removes its lines here.
 */
import { isCatalogImage } from '../image/catalog.js';
import type { Images } from '../work.js';
import type { WorkspaceSpec } from './schema.js';

/** Paths of the fields, in the order of the schema; empty when all of the spec is carried out. */
export function unsupportedFields(spec: WorkspaceSpec, images: Images): readonly string[] {
  const found: string[] = [];
  const refuse = (path: string, value: unknown): void => {
    if (isGiven(value)) found.push(`spec.${path}`);
  };
  refuse('connections', spec.connections);
  if (spec.image !== undefined && images === 'Catalog' && !isCatalogImage(spec.image)) found.push('spec.image');
  // Images of the catalog are this machine's own.
  if (images === 'Catalog') refuse('imagePullSecrets', spec.imagePullSecrets);
  refuse('maxCostUSD', spec.maxCostUSD);
  const { queueTimeout: _carriedOut, ...placement } = spec.placement ?? {};
  for (const [name, value] of Object.entries(placement)) refuse(`placement.${name}`, value);
  refuse('resources.gpu', spec.resources?.gpu);
  return found;
}

/** An empty list asks for nothing. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
