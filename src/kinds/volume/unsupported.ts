/**
 * Owns which valid fields of a Volume this service does not carry out yet. One that uses any is refused with 501 naming the
 * field: nothing is accepted and ignored. A later feature removes its lines here.
 */
import type { VolumeSpec } from './schema.js';

/** Paths of the fields, in the order of the schema; empty when all of the spec is carried out. */
export function unsupportedFields(spec: VolumeSpec): readonly string[] {
  const found: string[] = [];
  if (spec.accessMode !== 'ReadWriteOnce') found.push('spec.accessMode');
  if (spec.commitInterval !== undefined) found.push('spec.commitInterval');
  if (spec.maxCostUSD !== undefined) found.push('spec.maxCostUSD');
  for (const origin of Object.keys(spec.source ?? {})) found.push(`spec.source.${origin}`);
  return found;
}
