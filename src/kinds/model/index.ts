/** Owns the declaration of Model: the read-only catalog of language models, the same for every org. */
import type { ApiObject } from '../../api/object.js';
import { listCell, phaseColumn, READ_ONLY } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { availability } from './availability.js';
import { modelSpec, modelStatus, type ModelSpec, type ModelStatus } from './schema.js';

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
    { name: 'Family', type: 'string', description: 'Its family.', cell: ({ spec }: This) => spec.family ?? '' },
    {
      name: 'Available',
      type: 'boolean',
      description: 'Whether something serves it now.',
      cell: ({ status }: This) => status.available ?? false,
    },
    {
      name: 'Context',
      type: 'integer',
      description: 'Most tokens of a request and its answer together.',
      cell: ({ spec }: This) => spec.contextTokens ?? null,
    },
    {
      name: 'In USD',
      type: 'string',
      description: 'Per million tokens of input.',
      cell: ({ spec }: This) => spec.pricing?.inputPerMillionTokensUSD ?? '',
    },
    {
      name: 'Out USD',
      type: 'string',
      description: 'Per million tokens of output.',
      cell: ({ spec }: This) => spec.pricing?.outputPerMillionTokensUSD ?? '',
    },
    {
      name: 'Aliases',
      type: 'string',
      priority: 1,
      description: 'Other names that a request may use.',
      cell: ({ spec }: This) => listCell(spec.aliases),
    },
    { ...phaseColumn('Model'), priority: 1 },
  ],
  selectableFields: { 'spec.family': ({ spec }: This) => spec.family },
  initialStatus: ({ metadata }: This): ModelStatus => availability(metadata.name, metadata.creationTimestamp),
  machine: plainMachine<ModelSpec, ModelStatus>(),
};
