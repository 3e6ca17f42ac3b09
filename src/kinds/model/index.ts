/** The declaration of Model: the read-only catalog of language models, the same for every org. */
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import { booleanColumn, integerColumn, phaseColumn, READ_ONLY, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { availability, UNSERVED } from './availability.js';
import { modelMachine } from './machine.js';
import { modelSpec, type ModelSpec, modelStatus, type ModelStatus } from './schema.js';

type This = ApiObject<ModelSpec, ModelStatus>;

export const modelKind: KindDefinition = {
  kind: 'Model',
  plural: 'models',
  singular: 'model',
  shortNames: [],
  categories: ['catalog'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: READ_ONLY,
  catalog: true,
  description:
    'A language model that requests may name: what it can do and what it costs. Read-only, the same for every org.',
  schema: { spec: modelSpec, status: modelStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn('Family', 'Its family.', ({ spec }: This) => spec.family),
    booleanColumn('Available', 'Whether something serves it now.', ({ status }: This) => status.available),
    integerColumn(
      'Context',
      'Most tokens of a request and its answer together.',
      ({ spec }: This) => spec.contextTokens,
    ),
    textColumn('In USD', 'Per million tokens of input.', ({ spec }: This) => spec.pricing?.inputPerMillionTokensUSD),
    textColumn('Out USD', 'Per million tokens of output.', ({ spec }: This) => spec.pricing?.outputPerMillionTokensUSD),
    wide(textColumn('Aliases', 'Other names that a request may use.', ({ spec }: This) => spec.aliases)),
    { ...phaseColumn('Model'), priority: 1 },
  ],
  selectableFields: { 'spec.family': ({ spec }: This) => spec.family },
  initialStatus: ({ metadata, spec }: This): ModelStatus =>
    availability(spec, {}, UNSERVED, parseTime(metadata.creationTimestamp) ?? 0),
  machine: modelMachine,
};
