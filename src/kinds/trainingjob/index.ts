/** The declaration of TrainingJob (beta): a model trained or evaluated, one Job per stage. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { jobSpecReferences } from '../job/references.js';
import { jobPart } from '../job/priced-work.js';
import type { KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/names.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { named } from '../shapes/references.js';
import type { TrainingRuntimeSpec } from '../trainingruntime/schema.js';
import {
  comparison,
  environmentBinding,
  TRAINING_JOB_IMMUTABLE,
  trainingJobSpec,
  type TrainingJobSpec,
  trainingJobStatus,
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
  initialStatus: (): TrainingJobStatus => ({ phase: 'Pending' }),
  references: trainingJobReferences,
  plaintextSecretCheck: ({ spec }: This) => plaintextSecretCheckOf(spec.overrides ?? {}, 'spec.overrides'),
  pricedWork: ({ spec: { overrides = {} } }: This) => ({
    parts: [jobPart({ ...overrides, completions: 1, parallelism: 1 }, 'spec.overrides')],
  }),
  unbuilt: true,
  runsWork: true,
  machine: plainMachine<TrainingJobSpec, TrainingJobStatus>(),
};

export function trainingJobReferences({ spec }: ApiObject<TrainingJobSpec>): readonly Reference[] {
  const { runtime, data, environment, overrides = {} } = spec;
  return [
    { ...catalogReference('TrainingRuntime', 'spec.runtime', runtime), objection: (found) => refusalOf(found, spec) },
    ...(environment === undefined ? [] : [catalogReference('Environment', 'spec.environment.name', environment.name)]),
    ...named('Volume', 'spec.data.volume.name', data?.volume?.name),
    ...named('Job', 'spec.data.output.job', data?.output?.job),
    ...named('Connection', 'spec.data.bucket.connection', data?.bucket?.connection),
    ...jobSpecReferences(given(overrides), 'spec.overrides'),
  ];
}

/** The contract of the runtime: its modes, and what it needs to be named. */
function refusalOf(found: ApiObject, spec: TrainingJobSpec): string | undefined {
  const { modes, requires } = found.spec as TrainingRuntimeSpec;
  if (!modes.includes(spec.mode)) return `does not ${spec.mode}; it can ${modes.join(' and ')}`;
  const lacking = (['data', 'environment', 'model', 'teacher'] as const).filter(
    (field) => requires[field] === true && spec[field] === undefined,
  );
  return lacking.length === 0 ? undefined : `needs ${lacking.map((field) => `spec.${field}`).join(' and ')}`;
}

type Overrides = NonNullable<TrainingJobSpec['overrides']>;
type Given = { [Field in keyof Overrides]?: Exclude<Overrides[Field], undefined> };

/** Fields without a value are not there: a parsed spec has none of them. */
function given(overrides: Overrides): Given {
  return overrides as Given;
}
