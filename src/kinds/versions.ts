/** How a kind's group and version are spelled in `apiVersion`, paths and refusals (spec, "Versioning" 1). */
import { API_GROUP } from '../brand.js';
import type { KindDefinition } from './kind.js';

type Versioned = Pick<KindDefinition, 'group' | 'version'>;

/** `svc.dev/v1`, `svc.dev/v1beta1`, or `v1` for Kubernetes' core group. */
export function apiVersionOf(kind: Versioned): string {
  return kind.group === 'core' ? 'v1' : `${API_GROUP}/${kind.version}`;
}

/** The empty string for Kubernetes' core group. */
export function groupOf(kind: Pick<KindDefinition, 'group'>): string {
  return kind.group === 'core' ? '' : API_GROUP;
}
