/** Owns what a Connection names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { named } from '../shapes/references.js';
import type { ConnectionSpec } from './schema.js';

export function connectionReferences({ spec }: ApiObject<ConnectionSpec>): readonly Reference[] {
  return named('Secret', 'spec.secret', spec.secret);
}
