/** Owns the declaration of TrainingJob (beta): a model trained or evaluated, one Job per stage. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { estimateWork } from '../estimate.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { trainingJobReferences } from './references.js';
import {
  comparison,
  environmentBinding,
  TRAINING_JOB_IMMUTABLE,
  trainingJobSpec,
  trainingJobStatus,
  type TrainingJobSpec,
  type TrainingJobStatus,
} from './schema.js';

type This = ApiObject<TrainingJobSpec, TrainingJobStatus>;

export const trainingJobKind: KindDefinition = {
  kind: 'TrainingJob',
  plural: 'trainingjobs',
  singular: 'trainingjob',
  shortNames: ['tj'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1beta1',
  operations: EVERY_OPERATION,
  description: 'Trains a model with a TrainingRuntime, or evaluates it on an Environment; each stage is a Job (beta).',
  schema: {
    spec: trainingJobSpec,
    status: trainingJobStatus,
    immutable: TRAINING_JOB_IMMUTABLE,
    raiseOnly: ['spec.maxCostUSD'],
  },
  components: { Comparison: comparison, EnvironmentBinding: environmentBinding },
  columns: [
    phaseColumn('TrainingJob'),
    textColumn('Runtime', 'Its runtime.', ({ spec }: This) => spec.runtime),
    textColumn('Mode', 'Train or Evaluate.', ({ spec }: This) => spec.mode),
    textColumn(
      'Change',
      'Change of the pass rate in percentage points.',
      ({ status }: This) => status.evaluation?.comparison?.changePP,
    ),
    wide(textColumn('Model', 'Its model.', ({ spec }: This) => spec.model)),
    costColumn(),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.runtime': ({ spec }: This) => spec.runtime,
    'status.reason': ({ status }: This) => status.reason,
  },
  initialStatus: (training: This): TrainingJobStatus => ({ phase: 'Pending', estimate: estimateWork(training) }),
  references: trainingJobReferences,
  plainSight: ({ spec }: This) => plaintextSecretCheckOf(spec.overrides ?? {}, 'spec.overrides'),
  unbuilt: true,
  runsWork: true,
  machine: plainMachine<TrainingJobSpec, TrainingJobStatus>(),
};
