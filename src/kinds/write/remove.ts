/**
 * DELETE: preconditions, what becomes of dependents, and the mark of deletion. An object without finalizers goes at
 * once; one with finalizers stays, marked, until the last of them is gone.
 */
import { invalid } from '../../api/causes.js';
import { equalJson } from '../../api/equal.js';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../api/names.js';
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import type { Cause } from '../../api/refusal.js';
import { rfc3339 } from '../../api/time.js';
import type { KindDefinition } from '../kind.js';
import { checkIfMatch, checkUid, checkVersion } from './precondition.js';
import { refused, targetOf } from './prepared.js';
import type { Prepared, RefusedWrite, WriteContext } from './prepared.js';
import { versionOf } from './update.js';

export interface RemoveOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}

/** A month: longer than any work takes to end. */
const MAX_GRACE_SECONDS = 30 * 24 * 3600;

/**
 * A repeated delete may shorten the grace and change the propagation policy, and is a no-op otherwise. `generation` rises
 * once, with the request. Without `gracePeriodSeconds` in the options the object carries none: the kind's own applies.
 */
export function prepareRemove(
  kind: KindDefinition,
  current: ApiObject,
  options: RemoveOptions,
  ctx: WriteContext,
): Prepared | RefusedWrite {
  const target = targetOf(kind, current.metadata);
  const version = versionOf(current, ctx);
  const { preconditions, gracePeriodSeconds } = options;
  const early =
    checkIfMatch(ctx.ifMatch, version, target) ??
    checkUid(preconditions?.uid, current, target) ??
    checkVersion(preconditions?.resourceVersion, version, target);
  if (early !== undefined) return refused(early);
  const badGrace = checkGrace(gracePeriodSeconds);
  if (badGrace !== undefined) return refused(invalid(target, [badGrace]));

  const { metadata } = current;
  const finalizers = finalizersAfter(metadata.finalizers ?? [], options.propagationPolicy);
  const grace = shorter(metadata, gracePeriodSeconds);
  const first = metadata.deletionTimestamp === undefined;
  const same = grace === metadata.deletionGracePeriodSeconds && equalJson(finalizers, metadata.finalizers ?? []);
  const gone = finalizers.length === 0;
  if (!first && same && !gone) {
    return { outcome: 'Prepared', object: current, warnings: [], specChanged: false, changed: false, gone: false };
  }
  const { finalizers: _, ...rest } = metadata;
  const marked: ObjectMeta = {
    ...rest,
    generation: metadata.generation + (first ? 1 : 0),
    deletionTimestamp: metadata.deletionTimestamp ?? rfc3339(ctx.context.now),
    ...(grace === undefined ? undefined : { deletionGracePeriodSeconds: grace }),
    ...(gone ? undefined : { finalizers }),
  };
  const object: ApiObject = { ...current, metadata: marked };
  return { outcome: 'Prepared', object, warnings: [], specChanged: false, changed: true, gone };
}

/** No policy leaves an earlier one as it is. */
function finalizersAfter(current: readonly string[], policy: RemoveOptions['propagationPolicy']): readonly string[] {
  if (policy === undefined) return current;
  const others = current.filter((name) => name !== FOREGROUND_FINALIZER && name !== ORPHAN_FINALIZER);
  switch (policy) {
    case 'Foreground':
      return [...others, FOREGROUND_FINALIZER];
    case 'Orphan':
      return [...others, ORPHAN_FINALIZER];
    default:
      return others;
  }
}

function shorter(metadata: ObjectMeta, asked: number | undefined): number | undefined {
  const before = metadata.deletionTimestamp === undefined ? undefined : metadata.deletionGracePeriodSeconds;
  if (asked === undefined || before === undefined) return asked ?? before;
  return Math.min(asked, before);
}

function checkGrace(seconds: number | undefined): Cause | undefined {
  if (seconds === undefined) return undefined;
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_GRACE_SECONDS) return undefined;
  return {
    field: 'gracePeriodSeconds',
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${seconds}: must be a whole number from 0 to ${MAX_GRACE_SECONDS}`,
  };
}
