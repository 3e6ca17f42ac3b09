/** Owns what a Function names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import {
  allNamed,
  envSecrets,
  image,
  imageRef,
  named,
  secretMounts,
  sidecars,
  volumeMounts,
} from '../shapes/references.js';
import type { FunctionSpec } from './schema.js';

export function functionReferences({ spec }: ApiObject<FunctionSpec>): readonly Reference[] {
  return [
    ...allNamed('Connection', 'spec.connections', spec.connections),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
    ...allNamed('Secret', 'spec.imagePullSecrets', spec.imagePullSecrets),
    ...imageRef('spec.imageRef', spec.imageRef),
    ...named('Pool', 'spec.placement.pool', spec.placement?.pool),
    ...secretMounts('spec.secrets', spec.secrets),
    ...named('ServiceAccount', 'spec.serviceAccountName', spec.serviceAccountName),
    ...sidecars('spec.sidecars', spec.sidecars),
    ...volumeMounts('spec.volumes', spec.volumes),
  ];
}
