/** Owns what an Image names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { allNamed, image, named } from '../shapes/references.js';
import type { ImageSpec } from './schema.js';

export function imageReferences({ spec }: ApiObject<ImageSpec>): readonly Reference[] {
  return [
    ...image('spec.base', spec.base),
    ...allNamed('Secret', 'spec.buildSecrets', spec.buildSecrets),
    ...named('Sandbox', 'spec.fromSandbox.name', spec.fromSandbox?.name),
    ...allNamed('Secret', 'spec.imagePullSecrets', spec.imagePullSecrets),
  ];
}
