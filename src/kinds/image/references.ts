/** Owns what an Image names: objects that must exist when it is admitted, blobs, and the Secrets that must not be baked in. */
import type { ApiObject } from '../../api/object.js';
import type { PlaintextSecretCheck, Reference } from '../kind.js';
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

export function imageBlobs({ spec }: ApiObject<ImageSpec>): readonly string[] {
  const { dockerfile, steps = [] } = spec;
  const digests = [
    dockerfile?.blob,
    dockerfile?.context,
    ...steps.flatMap(({ copy, uvSync }) => [copy?.blob, uvSync?.project]),
  ];
  return digests.filter((digest) => digest !== undefined);
}

/** Variables and arguments of a build stay in the image: no value of a build secret may stand in them. */
export function imagePlainSight({ spec }: ApiObject<ImageSpec>): PlaintextSecretCheck {
  const lists = [
    { values: spec.dockerfile?.buildArgs, path: 'spec.dockerfile.buildArgs' },
    ...(spec.steps ?? []).map(({ env }, index) => ({ values: env, path: `spec.steps[${index}].env` })),
  ];
  return {
    texts: lists.flatMap(({ values, path }) =>
      Object.entries(values ?? {}).flatMap(([name, text]) => (text === '' ? [] : [{ field: `${path}.${name}`, text }])),
    ),
    secrets: (spec.buildSecrets ?? []).map((name) => ({ name })),
  };
}
