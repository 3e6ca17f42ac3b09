/** Owns what a Workspace names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import { allNamed, envSecrets, image, named, secretMounts } from '../shapes/references.js';
import type { VolumeSpec } from '../volume/schema.js';
import type { WorkspaceSpec } from './schema.js';

export function workspaceReferences({ spec }: ApiObject<WorkspaceSpec>): readonly Reference[] {
  return [
    ...allNamed('Connection', 'spec.connections', spec.connections),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
    ...allNamed('Secret', 'spec.imagePullSecrets', spec.imagePullSecrets),
    ...named('Pool', 'spec.placement.pool', spec.placement?.pool),
    ...secretMounts('spec.secrets', spec.secrets),
    ...named('ServiceAccount', 'spec.serviceAccountName', spec.serviceAccountName),
    ...named('Volume', 'spec.volume', spec.volume).map((home) => ({ ...home, objection: notItsOwn })),
  ];
}

/** A home has one writer. */
function notItsOwn({ metadata, spec }: ApiObject<VolumeSpec>): string | undefined {
  if (spec.accessMode === 'ReadWriteOnce') return undefined;
  return `Volume "${metadata.name}" is ${spec.accessMode}; a home must be ReadWriteOnce`;
}
