/** The declaration of Volume: storage that outlives work. */
import type { ApiObject } from '../../api/object.js';
import { databaseConnection, storeConnection } from '../connection/named.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { named } from '../shapes/references.js';
import { volumeMachine } from './machine.js';
import { VOLUME_IMMUTABLE, volumeSpec, type VolumeSpec, volumeStatus, type VolumeStatus } from './schema.js';
import type { VolumePrivate } from './state.js';

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
    textColumn('Access', 'Who may mount it, and how.', ({ spec }: This) => spec.accessMode),
    textColumn('Used', 'Logical bytes of the newest revision.', ({ status }: This) => status.used),
    textColumn('Size', 'Most logical bytes of a revision.', ({ spec }: This) => spec.size),
    wide(textColumn('Source', 'What it is filled from.', ({ spec }: This) => Object.keys(spec.source ?? {}).join(','))),
    wide(
      textColumn('Holder', 'Who may write now.', ({ status: { holder } }: This) =>
        holder === undefined ? '' : `${holder.kind ?? ''}/${holder.name ?? ''}`,
      ),
    ),
    wide(textColumn('Revision', 'The newest Ready revision.', ({ status }: This) => status.revision)),
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

export function volumeReferences({ spec: { source } }: ApiObject<VolumeSpec>): readonly Reference[] {
  return [
    ...databaseConnection('spec.source.connectionQuery.connection', source?.connectionQuery?.connection),
    ...named('Secret', 'spec.source.hub.secret', source?.hub?.secret),
    ...storeConnection('spec.source.s3.connection', source?.s3?.connection),
  ];
}

/**
 * Paths of the valid fields that this service does not carry out yet, in the order of the schema. A Volume that uses one is refused with 501
 * naming the field: nothing is accepted and ignored. A later feature removes its lines here.
 */
export function unsupportedFields(spec: VolumeSpec): readonly string[] {
  const found: string[] = [];
  if (spec.accessMode !== 'ReadWriteOnce') found.push('spec.accessMode');
  if (spec.commitInterval !== undefined) found.push('spec.commitInterval');
  if (spec.maxCostUSD !== undefined) found.push('spec.maxCostUSD');
  for (const origin of Object.keys(spec.source ?? {})) found.push(`spec.source.${origin}`);
  return found;
}
