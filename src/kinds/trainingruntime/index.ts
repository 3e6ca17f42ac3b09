/** The declaration of TrainingRuntime (beta): a trainer's image and the contract of the TrainingJobs that use it. */
import type { ApiObject } from '../../api/object.js';
import { CATALOG_PROJECT } from '../../brand.js';
import { booleanColumn, EVERY_OPERATION, phaseColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { sidecars } from '../shapes/references.js';
import { unverifiedStatus } from '../shapes/images.js';
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
    textColumn('Task', 'What it trains for.', ({ spec }: This) => spec.task),
    textColumn('Modes', 'What it can do.', ({ spec }: This) => spec.modes),
    phaseColumn('runtime'),
    booleanColumn('Managed', 'Whether it is one of the catalog.', ({ status }: This) => status.managed),
    wide(textColumn('Launcher', 'Launcher of the ranks.', ({ spec }: This) => spec.launcher)),
    wide(textColumn('Image', 'Its image.', ({ spec }: This) => spec.image)),
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
