/** The declaration of FunctionCall: one call of a Function. What is cancelled stays cancelled. */
import type { ApiObject } from '../../api/object.js';
import {
  countColumn,
  EVERY_OPERATION,
  integerColumn,
  phaseColumn,
  reasonColumn,
  textColumn,
  wide,
} from '../declare.js';
import type { KindDefinition } from '../kind.js';
import type { Machine } from '../machine.js';
import { plain, refused } from '../plain-machine.js';
import {
  FUNCTION_CALL_IMMUTABLE,
  type FunctionCallSpec,
  functionCallSpec,
  type FunctionCallStatus,
  functionCallStatus,
} from './schema.js';

export const functionCallMachine: Machine<FunctionCallSpec, FunctionCallStatus, undefined, undefined, never> = {
  decide(current, _side, message) {
    const { metadata, spec } = current.object;
    if (message.type === 'Updated' && message.before.spec.state === 'Cancelled' && spec.state !== 'Cancelled') {
      const cause = 'a cancelled call stays cancelled';
      return refused({
        code: 'Invalid',
        message: `FunctionCall "${metadata.name}" is invalid: spec.state: ${cause}`,
        causes: [{ field: 'spec.state', message: cause, reason: 'FieldValueInvalid' }],
      });
    }
    return plain(current, message);
  },
};

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
    textColumn('Function', 'Function that is called.', ({ spec }: This) =>
      spec.method === undefined ? (spec.function ?? '') : `${spec.function}.${spec.method}`,
    ),
    countColumn('Attempts', 'Attempts made so far.', ({ status }: This) => status.attempts),
    wide(textColumn('Group', 'Calls that it belongs to.', ({ spec }: This) => spec.group)),
    wide(integerColumn('Index', 'Place in the group.', ({ spec }: This) => spec.index)),
    wide(textColumn('Error', 'Class of the error that ended it.', ({ status }: This) => status.error?.type)),
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
