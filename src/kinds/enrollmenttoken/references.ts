/** Owns what an EnrollmentToken names and must exist: the Pool that machines join. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import type { EnrollmentTokenSpec } from './schema.js';

export function enrollmentTokenReferences({ spec }: ApiObject<EnrollmentTokenSpec>): readonly Reference[] {
  return spec.pool === undefined ? [] : [{ field: 'spec.pool', kind: 'Pool', name: spec.pool }];
}
