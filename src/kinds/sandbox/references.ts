/** Owns what a Sandbox names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { envSecrets, image, secretMounts } from '../shapes/references.js';
import type { SandboxSpec } from './schema.js';

export function sandboxReferences({ spec }: ApiObject<SandboxSpec>): readonly Reference[] {
  return [
    ...secretMounts('spec.secrets', spec.secrets),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
  ];
}
