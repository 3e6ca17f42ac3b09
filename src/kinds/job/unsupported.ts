/** What of a valid Job this service does not carry out yet. */
import { isCatalogImage } from '../image/catalog.js';
import type { Images } from '../work.js';
import type { JobSpec } from './schema.js';

/**
 * Paths of the valid fields that this service does not carry out yet, in the order of the schema. A Job that uses one is refused with 501
 * naming the field: nothing is accepted and ignored. A later feature removes its lines here. `at`: where the spec stands, `spec` or
 * `spec.template.spec`.
 */
export function unsupportedFields(spec: JobSpec, images: Images, at: string): readonly string[] {
  const found: string[] = [];
  const refuse = (path: string, value: unknown): void => {
    if (isGiven(value)) found.push(`${at}.${path}`);
  };
  refuse('completeByTime', spec.completeByTime);
  refuse('connections', spec.connections);
  refuse('distributed', spec.distributed);
  if (images === 'Catalog' && !isCatalogImage(spec.image)) found.push(`${at}.image`);
  // Images of the catalog are this machine's own.
  if (images === 'Catalog') refuse('imagePullSecrets', spec.imagePullSecrets);
  refuse('imageRef', spec.imageRef);
  for (const [index, input] of (spec.inputs ?? []).entries()) {
    refuse(`inputs[${index}].volume`, input.volume);
    refuse(`inputs[${index}].bucket`, input.bucket);
    refuse(`inputs[${index}].fromWorkspace`, input.fromWorkspace);
  }
  for (const [index, output] of (spec.outputs ?? []).entries()) {
    refuse(`outputs[${index}].fromRanks`, output.fromRanks);
    refuse(`outputs[${index}].sink`, output.sink);
  }
  const { queueTimeout: _timeout, maxRateUSDPerHour: _rate, ...placement } = spec.placement ?? {};
  for (const [name, value] of Object.entries(placement)) refuse(`placement.${name}`, value);
  refuse('recovery.checkpoint', spec.recovery?.checkpoint);
  refuse('recovery.continuity', spec.recovery?.continuity);
  refuse('recovery.minProgressDuration', spec.recovery?.minProgressDuration);
  if ((spec.resources?.nodes ?? 0) > 1) found.push(`${at}.resources.nodes`);
  refuse('resources.gpu', spec.resources?.gpu);
  refuse('scaledownWindow', spec.scaledownWindow);
  refuse('serviceAccountName', spec.serviceAccountName);
  for (const [index, sidecar] of (spec.sidecars ?? []).entries()) {
    // All programs of one Attempt share its file system, so another image cannot be given to one of them.
    if (sidecar.image !== undefined && sidecar.image !== spec.image) found.push(`${at}.sidecars[${index}].image`);
    refuse(`sidecars[${index}].startupTimeout`, sidecar.startupTimeout);
  }
  refuse('source.git', spec.source?.git);
  refuse('volumes', spec.volumes);
  return found;
}

/** An empty list asks for nothing. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
