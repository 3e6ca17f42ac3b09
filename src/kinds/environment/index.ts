/** Owns the declaration of Environment: tasks with graders, for evaluation and for reinforcement learning. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, listCell, phaseColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/catalog-name.js';
import { image } from '../shapes/references.js';
import { unverifiedStatus } from '../shapes/unverified-status.js';
import { environmentSpec, environmentStatus, type EnvironmentSpec, type EnvironmentStatus } from './schema.js';

type This = ApiObject<EnvironmentSpec, EnvironmentStatus>;

export const environmentKind: KindDefinition = {
  kind: 'Environment',
  plural: 'environments',
  singular: 'environment',
  shortNames: ['envs'],
  categories: ['catalog'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'A package of tasks and graders, for evaluation and reinforcement learning: an image with the entrypoints `svc-env tasks` and `svc-env grade`.',
  schema: { spec: environmentSpec, status: environmentStatus, immutable: [], raiseOnly: [] },
  columns: [
    { name: 'Version', type: 'string', description: 'Its version.', cell: ({ spec }: This) => spec.version ?? '' },
    {
      name: 'Category',
      type: 'string',
      description: 'What it is about.',
      cell: ({ spec }: This) => spec.category ?? '',
    },
    {
      name: 'Modes',
      type: 'string',
      description: 'What it may be used for.',
      cell: ({ spec }: This) => listCell(spec.modes),
    },
    phaseColumn('Environment'),
    {
      name: 'Readiness',
      type: 'string',
      priority: 1,
      description: 'How far it may be relied on.',
      cell: ({ spec }: This) => spec.readiness ?? '',
    },
    {
      name: 'Summary',
      type: 'string',
      priority: 1,
      description: 'What it is.',
      cell: ({ spec }: This) => spec.summary ?? '',
    },
  ],
  selectableFields: {
    'spec.category': ({ spec }: This) => spec.category,
    'spec.readiness': ({ spec }: This) => spec.readiness,
    'spec.version': ({ spec }: This) => spec.version,
  },
  initialStatus: (environment: This): EnvironmentStatus =>
    unverifiedStatus(environment, environment.spec.package?.image),
  references: ({ spec }: This) => [
    ...image('spec.sandbox.image', spec.sandbox.image),
    ...(spec.examples ?? []).map(({ runtime }, index) =>
      catalogReference('TrainingRuntime', `spec.examples[${index}].runtime`, runtime),
    ),
  ],
  unbuilt: true,
  machine: plainMachine<EnvironmentSpec, EnvironmentStatus>(),
};
