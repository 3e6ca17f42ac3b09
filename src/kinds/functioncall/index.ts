/** Owns the declaration of FunctionCall: one call of a Function. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { functionCallMachine } from './machine.js';
import {
  FUNCTION_CALL_IMMUTABLE,
  functionCallSpec,
  functionCallStatus,
  type FunctionCallSpec,
  type FunctionCallStatus,
} from './schema.js';

type This = ApiObject<FunctionCallSpec, FunctionCallStatus>;

export const functionCallKind: KindDefinition = {
  kind: 'FunctionCall',
  plural: 'functioncalls',
  singular: 'functioncall',
  shortNames: ['fc'],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  unbuilt: true,
  description: 'One call of a Function, which a worker takes and answers. It is never changed, only cancelled.',
  schema: {
    spec: functionCallSpec,
    status: functionCallStatus,
    immutable: FUNCTION_CALL_IMMUTABLE,
    raiseOnly: [],
  },
  columns: [
    phaseColumn('FunctionCall'),
    {
      name: 'Function',
      type: 'string',
      description: 'Function that is called.',
      cell: ({ spec }: This) => (spec.method === undefined ? (spec.function ?? '') : `${spec.function}.${spec.method}`),
    },
    {
      name: 'Attempts',
      type: 'integer',
      description: 'Attempts made so far.',
      cell: (object: This) => object.status.attempts ?? 0,
    },
    {
      name: 'Group',
      type: 'string',
      priority: 1,
      description: 'Calls that it belongs to.',
      cell: (object: This) => object.spec.group ?? '',
    },
    {
      name: 'Index',
      type: 'integer',
      priority: 1,
      description: 'Place in the group.',
      cell: (object: This) => object.spec.index ?? null,
    },
    {
      name: 'Error',
      type: 'string',
      priority: 1,
      description: 'Class of the error that ended it.',
      cell: (object: This) => object.status.error?.type ?? '',
    },
    reasonColumn(),
  ],
  selectableFields: {
    'spec.function': (object: This) => object.spec.function,
    'spec.group': (object: This) => object.spec.group,
  },
  initialStatus: (): FunctionCallStatus => ({ phase: 'Queued', attempts: 0 }),
  blobs: ({ spec: { input } }: This) => (input?.blob === undefined ? [] : [input.blob]),
  references: ({ spec }: This) => [
    { field: 'spec.function', kind: 'Function', name: spec.function, reason: 'FunctionNotFound' },
  ],
  machine: functionCallMachine,
};
