/** Owns the declaration of TrainingRuntime (beta): a trainer's image and the contract of the TrainingJobs that use it. */
import type { ApiObject } from '../../api/object.js';
import { CATALOG_PROJECT } from '../../brand.js';
import { EVERY_OPERATION, listCell, phaseColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { sidecars } from '../shapes/references.js';
import { unverifiedStatus } from '../shapes/unverified-status.js';
import {
  trainingRuntimeSpec,
  trainingRuntimeStatus,
  type TrainingRuntimeSpec,
  type TrainingRuntimeStatus,
} from './schema.js';

type This = ApiObject<TrainingRuntimeSpec, TrainingRuntimeStatus>;

export const trainingRuntimeKind: KindDefinition = {
  kind: 'TrainingRuntime',
  plural: 'trainingruntimes',
  singular: 'trainingruntime',
  shortNames: ['tr'],
  categories: ['catalog'],
  scope: 'project',
  group: 'api',
  version: 'v1beta1',
  operations: EVERY_OPERATION,
  description: "A trainer's image, pinned and verified, and the contract that TrainingJobs are made against (beta).",
  schema: { spec: trainingRuntimeSpec, status: trainingRuntimeStatus, immutable: [], raiseOnly: [] },
  columns: [
    { name: 'Task', type: 'string', description: 'What it trains for.', cell: ({ spec }: This) => spec.task ?? '' },
    { name: 'Modes', type: 'string', description: 'What it can do.', cell: ({ spec }: This) => listCell(spec.modes) },
    phaseColumn('runtime'),
    {
      name: 'Managed',
      type: 'boolean',
      description: 'Whether it is one of the catalog.',
      cell: ({ status }: This) => status.managed ?? false,
    },
    {
      name: 'Launcher',
      type: 'string',
      priority: 1,
      description: 'Launcher of the ranks.',
      cell: ({ spec }: This) => spec.launcher ?? '',
    },
    {
      name: 'Image',
      type: 'string',
      priority: 1,
      description: 'Its image.',
      cell: ({ spec }: This) => spec.image ?? '',
    },
  ],
  selectableFields: { 'spec.task': ({ spec }: This) => spec.task },
  initialStatus(runtime: This): TrainingRuntimeStatus {
    const { digest, ...rest } = unverifiedStatus(runtime, runtime.spec.image);
    const managed = runtime.metadata.namespace === CATALOG_PROJECT;
    return { ...rest, managed, ...(digest === undefined ? undefined : { imageDigest: digest }) };
  },
  references: ({ spec }: This) => sidecars('spec.defaults.sidecars', spec.defaults?.sidecars),
  unbuilt: true,
  machine: plainMachine<TrainingRuntimeSpec, TrainingRuntimeStatus>(),
};
