/**
 * PATCH: applies a merge patch or a JSON patch to the object as a client sees it, and treats the result as the whole
 * desired object. Changes of `status` and of metadata that the service owns come to nothing.
 */
import { invalid } from '../../api/causes.js';
import type { ApiObject } from '../../api/object.js';
import { Misfit } from '../../api/patches/draft.js';
import { jsonPatch } from '../../api/patches/json.js';
import { mergePatch } from '../../api/patches/merge.js';
import type { Cause } from '../../api/refusal.js';
import { isObject } from '../../api/safe-value.js';
import type { KindDefinition } from '../kind.js';
import { refused, targetOf } from './prepared.js';
import type { Prepared, RefusedWrite, WriteContext } from './prepared.js';
import { prepareUpdate, versionOf } from './update.js';

export type ObjectPatch =
  | { readonly type: 'merge'; readonly patch: Readonly<Record<string, unknown>> }
  | { readonly type: 'json'; readonly operations: readonly unknown[] };

export function preparePatch(
  kind: KindDefinition,
  current: ApiObject,
  patch: ObjectPatch,
  ctx: WriteContext,
): Prepared | RefusedWrite {
  const target = targetOf(kind, current.metadata);
  const base = withVersion(kind.patchBase?.(current) ?? current, versionOf(current, ctx));
  const result = patch.type === 'merge' ? merged(base, patch.patch) : jsonPatch(base, patch.operations);
  if (result.outcome === 'Refused') {
    const { code, message, cause } = result;
    return refused(cause === undefined ? { code, message, target } : { ...invalid(target, [cause]), message });
  }
  const desired = result.value;
  if (!isObject(desired)) return refused({ code: 'BadRequest', message: 'the patched object is no object', target });
  const prepared = prepareUpdate(kind, base, desired, ctx);
  return prepared.outcome === 'Prepared' && !prepared.changed ? { ...prepared, object: current } : prepared;
}

function merged(base: ApiObject, patch: Readonly<Record<string, unknown>>) {
  try {
    return { outcome: 'Patched' as const, value: mergePatch(base, patch) };
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const message = `the merge patch does not fit the object: ${error.message}`;
    const cause: Cause = { field: '', message: error.message, reason: 'FieldValueTooMany' };
    return { outcome: 'Refused' as const, code: 'Invalid' as const, message, cause };
  }
}

/** A patch may test or send back the version, so it has to be there. */
function withVersion(current: ApiObject, version: string): ApiObject {
  if (version === '' || current.metadata.resourceVersion === version) return current;
  return { ...current, metadata: { ...current.metadata, resourceVersion: version } };
}
