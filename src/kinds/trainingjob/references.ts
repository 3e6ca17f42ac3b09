/** Owns what a TrainingJob names and must exist, and what its runtime must be to take it. */
import type { ApiObject } from '../../api/object.js';
import { jobSpecReferences } from '../job/references.js';
import type { Reference } from '../kind.js';
import { catalogReference } from '../shapes/names.js';
import { named } from '../shapes/references.js';
import type { TrainingRuntimeSpec } from '../trainingruntime/schema.js';
import type { TrainingJobSpec } from './schema.js';

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
