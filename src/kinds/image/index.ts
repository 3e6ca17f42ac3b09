/** The declaration of Image: a container image that the service builds. */
import type { ApiObject } from '../../api/object.js';
import { CATALOG_PROJECT } from '../../brand.js';
import { EVERY_OPERATION, integerColumn, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition, PlaintextSecretCheck, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { allNamed, image, named } from '../shapes/references.js';
import { catalogStatus } from './catalog.js';
import { imageObjectStatus, type ImageObjectStatus, imageSpec, type ImageSpec } from './schema.js';

type This = ApiObject<ImageSpec, ImageObjectStatus>;

export const imageKind: KindDefinition = {
  kind: 'Image',
  plural: 'images',
  singular: 'image',
  shortNames: ['img'],
  categories: ['catalog'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  unbuilt: true,
  runsWork: true,
  description:
    'A container image, built from a base with steps, from a Dockerfile or from a Sandbox. An identical spec on the same base is not built twice.',
  schema: { spec: imageSpec, status: imageObjectStatus, immutable: [], raiseOnly: [] },
  columns: [
    phaseColumn('Image'),
    textColumn('Stage', 'What the build is doing.', ({ status }: This) =>
      status.phase === 'Pending' ? (status.progress?.stage ?? '') : '',
    ),
    textColumn(
      'From',
      'What it is built from.',
      ({ spec }: This) =>
        spec.base ?? (spec.dockerfile === undefined ? `sandbox/${spec.fromSandbox?.name ?? ''}` : 'Dockerfile'),
    ),
    integerColumn('Size', 'Compressed bytes.', ({ status }: This) => status.size),
    wide(textColumn('Python', 'Version of Python inside.', ({ status }: This) => status.python)),
    wide(textColumn('Digest', 'Digest of what was built.', ({ status }: This) => status.digest)),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.base': (object: This) => object.spec.base,
    'status.digest': (object: This) => object.status.digest,
    'status.specHash': (object: This) => object.status.specHash,
  },
  initialStatus: ({ metadata }: This): ImageObjectStatus =>
    metadata.namespace === CATALOG_PROJECT
      ? catalogStatus(metadata.name)
      : { phase: 'Pending', progress: { stage: 'Queued' } },
  blobs: imageBlobs,
  references: imageReferences,
  plaintextSecretCheck: imagePlaintextSecretCheck,
  unservedSubresources: ['logs'],
  machine: plainMachine<ImageSpec, ImageObjectStatus>(),
};

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
export function imagePlaintextSecretCheck({ spec }: ApiObject<ImageSpec>): PlaintextSecretCheck {
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
