/** The conditions that a write sets on the stored object: `If-Match`, `resourceVersion` and `uid`. */
import type { ApiObject } from '../../api/object.js';
import type { Refusal } from '../../api/refusal.js';
import type { Target } from './prepared.js';

/** `ifMatch`: the entity tag without its quotes, which is a resourceVersion. */
export function checkIfMatch(ifMatch: string | undefined, version: string, target: Target): Refusal | undefined {
  if (ifMatch === undefined || ifMatch === version) return undefined;
  return {
    code: 'PreconditionFailed',
    message: `${name(target)} is at version ${version}, which If-Match does not name`,
    target,
  };
}

/** `given` comes from a body; empty and `0` set no condition, as in Kubernetes. */
export function checkVersion(given: unknown, version: string, target: Target): Refusal | undefined {
  if (given === undefined || given === null || given === '' || given === '0' || given === version) return undefined;
  if (typeof given !== 'string' || !/^\d{1,20}$/.test(given)) {
    return { code: 'BadRequest', message: 'metadata.resourceVersion must be a decimal string', target };
  }
  return {
    code: 'Conflict',
    message: `Operation cannot be fulfilled on ${name(target)}: the object has been modified; please apply your changes to the latest version and try again`,
    target,
  };
}

export function checkUid(given: string | undefined, object: ApiObject, target: Target): Refusal | undefined {
  const { uid } = object.metadata;
  if (given === undefined || given === uid) return undefined;
  return {
    code: 'Conflict',
    message: `Operation cannot be fulfilled on ${name(target)}: Precondition failed: UID in precondition: ${given.slice(0, 100)}, UID in object meta: ${uid}`,
    target,
  };
}

function name(target: Target): string {
  return `${target.kind}${target.group === '' ? '' : `.${target.group}`} "${target.name}"`;
}
