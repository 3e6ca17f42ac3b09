/** Owns the declaration of Image: a container image that the service builds. */
import type { ApiObject } from '../../api/object.js';
import { CATALOG_PROJECT } from '../../brand.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogStatus } from './catalog.js';
import { imageBlobs, imagePlainSight, imageReferences } from './references.js';
import { imageObjectStatus, imageSpec, type ImageObjectStatus, type ImageSpec } from './schema.js';

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
    {
      name: 'Stage',
      type: 'string',
      description: 'What the build is doing.',
      cell: (object: This) => (object.status.phase === 'Pending' ? (object.status.progress?.stage ?? '') : ''),
    },
    {
      name: 'From',
      type: 'string',
      description: 'What it is built from.',
      cell: ({ spec }: This) =>
        spec.base ?? (spec.dockerfile === undefined ? `sandbox/${spec.fromSandbox?.name ?? ''}` : 'Dockerfile'),
    },
    {
      name: 'Size',
      type: 'integer',
      description: 'Compressed bytes.',
      cell: (object: This) => object.status.size ?? null,
    },
    {
      name: 'Python',
      type: 'string',
      priority: 1,
      description: 'Version of Python inside.',
      cell: (object: This) => object.status.python ?? '',
    },
    {
      name: 'Digest',
      type: 'string',
      priority: 1,
      description: 'Digest of what was built.',
      cell: (object: This) => object.status.digest ?? '',
    },
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
  plainSight: imagePlainSight,
  unservedSubresources: ['logs'],
  machine: plainMachine<ImageSpec, ImageObjectStatus>(),
};
