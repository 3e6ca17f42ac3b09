/** Owns what a FunctionCall decides about its own spec: what is cancelled stays so. */
import type { Machine } from '../machine.js';
import { plain, refused } from '../plain-machine.js';
import type { FunctionCallSpec, FunctionCallStatus } from './schema.js';

export const functionCallMachine: Machine<FunctionCallSpec, FunctionCallStatus, undefined, undefined, never> = {
  decide(current, _book, message) {
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
