/** The declaration of Environment: tasks with graders, for evaluation and for reinforcement learning. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/names.js';
import { unverifiedStatus } from '../shapes/images.js';
import { image } from '../shapes/references.js';
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
    textColumn('Version', 'Its version.', ({ spec }: This) => spec.version),
    textColumn('Category', 'What it is about.', ({ spec }: This) => spec.category),
    textColumn('Modes', 'What it may be used for.', ({ spec }: This) => spec.modes),
    phaseColumn('Environment'),
    wide(textColumn('Readiness', 'How far it may be relied on.', ({ spec }: This) => spec.readiness)),
    wide(textColumn('Summary', 'What it is.', ({ spec }: This) => spec.summary)),
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
