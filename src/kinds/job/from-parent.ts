/**
 * What a Sweep or a Pipeline gives a Job beside its spec: the parameters of its cell, and which incarnations its inputs are from. Both are
 * annotations, since a client may not write variables of the service, and an input names its Job. Without such an owner they mean nothing.
 */
import { API_GROUP, ENV_PREFIX } from '../../brand.js';
import type { ObjectMeta } from '../../api/object.js';
import type { PlannedEnv } from '../work.js';

const PARAMS = `${API_GROUP}/params`;
const PINNED_INPUTS = `${API_GROUP}/pinned-inputs`;

type Texts = Readonly<Record<string, string>>;

/** Parameters by name. */
export function paramAnnotations(params: Texts): Texts {
  return Object.keys(params).length === 0 ? {} : { [PARAMS]: JSON.stringify(params) };
}

/** uids of Jobs by the name of the input that is an output of theirs. */
export function pinAnnotations(uids: Texts): Texts {
  return Object.keys(uids).length === 0 ? {} : { [PINNED_INPUTS]: JSON.stringify(uids) };
}

/** `SVC_PARAM_<NAME>` of each. */
export function paramEnv(metadata: ObjectMeta): readonly PlannedEnv[] {
  const params = read(metadata, 'Sweep', PARAMS);
  return Object.entries(params).flatMap(([name, value]) =>
    /^[A-Z][A-Z0-9_]*$/.test(name) ? [{ name: `${ENV_PREFIX}PARAM_${name}`, value }] : [],
  );
}

/** uids by the name of the input. */
export function pinnedInputs(metadata: ObjectMeta): Texts {
  return read(metadata, 'Pipeline', PINNED_INPUTS);
}

const NONE: Texts = {};

/** A client may have changed the annotation: what cannot be read is not there. */
function read({ annotations, ownerReferences }: ObjectMeta, owner: string, key: string): Texts {
  const text = annotations?.[key];
  if (text === undefined || ownerReferences?.some(({ kind, controller }) => controller && kind === owner) !== true)
    return NONE;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return NONE;
    return Object.fromEntries(
      Object.entries(value).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string' && !entry[1].includes('\0'),
      ),
    );
  } catch {
    return NONE;
  }
}
