/** Owns the declaration of Volume: storage that outlives work. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { volumeMachine } from './machine.js';
import { volumeReferences } from './references.js';
import { VOLUME_IMMUTABLE, volumeSpec, volumeStatus, type VolumeSpec, type VolumeStatus } from './schema.js';
import type { VolumePrivate } from './state.js';
import { unsupportedFields } from './unsupported.js';

type This = ApiObject<VolumeSpec, VolumeStatus>;

/** Every revision that is kept. */
const revisionBlobs: { of(volume: ApiObject, kept?: VolumePrivate): readonly string[] }['of'] = (_volume, kept) =>
  (kept?.revisions ?? []).map(({ digest }) => digest);

export const volumeKind: KindDefinition = {
  kind: 'Volume',
  plural: 'volumes',
  singular: 'volume',
  shortNames: ['vol'],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  runsWork: true,
  description:
    'Named storage of immutable revisions, filled by work, by uploads or from a source, and mounted into work.',
  schema: {
    spec: volumeSpec,
    status: volumeStatus,
    immutable: VOLUME_IMMUTABLE,
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [
    {
      ...phaseColumn('Volume'),
      cell: ({ metadata, status }: This) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
    },
    {
      name: 'Access',
      type: 'string',
      description: 'Who may mount it, and how.',
      cell: (object: This) => object.spec.accessMode,
    },
    {
      name: 'Used',
      type: 'string',
      description: 'Logical bytes of the newest revision.',
      cell: (object: This) => object.status.used ?? '',
    },
    {
      name: 'Size',
      type: 'string',
      description: 'Most logical bytes of a revision.',
      cell: (object: This) => object.spec.size ?? '',
    },
    {
      name: 'Source',
      type: 'string',
      priority: 1,
      description: 'What it is filled from.',
      cell: (object: This) => Object.keys(object.spec.source ?? {}).join(','),
    },
    {
      name: 'Holder',
      type: 'string',
      priority: 1,
      description: 'Who may write now.',
      cell: ({ status: { holder } }: This) => (holder === undefined ? '' : `${holder.kind ?? ''}/${holder.name ?? ''}`),
    },
    {
      name: 'Revision',
      type: 'string',
      priority: 1,
      description: 'The newest Ready revision.',
      cell: (object: This) => object.status.revision ?? '',
    },
    reasonColumn(),
  ],
  selectableFields: {
    'spec.accessMode': (object: This) => object.spec.accessMode,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: (): VolumeStatus => ({ phase: 'Pending' }),
  blobs: revisionBlobs,
  references: volumeReferences,
  unsupported: unsupportedFields,
  unservedSubresources: ['archive', 'files', 'revisions'],
  machine: volumeMachine,
};
