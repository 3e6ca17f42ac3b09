/**
 * What a replace and a patch have in common: from the current object and the whole desired one to the next state.
 * Parts of the desired body that are the current object's own (`===`) are known to be valid and are not read again.
 */
import type { Address } from '../../api/address.js';
import { invalid } from '../../api/causes.js';
import { shareJson } from '../../api/equal.js';
import { checkChange } from '../../api/immutable.js';
import { manageUpdate } from '../../api/managed-fields.js';
import type { MetadataInput } from '../../api/metadata.js';
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import { obstruct } from '../estimate.js';
import type { KindDefinition } from '../kind.js';
import { checkAddress, checkType } from './identity.js';
import {
  checkFinalizers,
  fixOfServiceFinalizers,
  sameWritable,
  serviceFinalizersIn,
  withWritable,
  writableOf,
} from './metadata.js';
import type { WritableMeta } from './metadata.js';
import { planOf } from './plan.js';
import { checkIfMatch, checkUid, checkVersion } from './precondition.js';
import { refused, targetOf } from './prepared.js';
import type { Prepared, RefusedWrite, WriteContext } from './prepared.js';
import {
  checkSupported,
  judgeFields,
  noComplaints,
  readMembers,
  readMetadata,
  readSpec,
  warningOf,
} from './validate.js';

export function prepareUpdate(
  kind: KindDefinition,
  current: ApiObject,
  desired: Readonly<Record<string, unknown>>,
  ctx: WriteContext,
): Prepared | RefusedWrite {
  const { apiVersion, guards } = planOf(kind);
  const target = targetOf(kind, current.metadata);
  const version = versionOf(current, ctx);
  const early = checkType(kind, apiVersion, desired) ?? checkIfMatch(ctx.ifMatch, version, target);
  if (early !== undefined) return refused(early);

  const complaints = noComplaints();
  readMembers(desired, complaints);
  let writable: WritableMeta = current.metadata;
  let fix: string | undefined;
  if (desired['metadata'] !== current.metadata) {
    const input = readMetadata(desired['metadata'], complaints);
    if (input !== undefined) {
      const wrong =
        checkAddress(addressOf(current), input) ??
        checkUid(uidOf(input), current, target) ??
        checkVersion(input.resourceVersion, version, target);
      if (wrong !== undefined) return refused(wrong);
      writable = writableOf(input);
      const ofService = serviceFinalizersIn(input, current.metadata);
      complaints.causes.push(...ofService.map(({ cause }) => cause));
      fix = fixOfServiceFinalizers(ofService);
      const finalizers = checkFinalizers(current.metadata, writable);
      if (finalizers !== undefined) complaints.causes.push(finalizers);
    }
  }
  let { spec } = current;
  if (desired['spec'] !== spec) {
    const before = complaints.causes.length;
    const read = shareJson(spec, readSpec(kind, desired['spec'], complaints, spec));
    if (complaints.causes.length === before && read !== spec) {
      complaints.causes.push(...checkChange(guards, spec, read));
      spec = read;
    }
  }
  const judged = judgeFields(complaints, ctx);
  if (complaints.causes.length > 0) return refused({ ...invalid(target, complaints.causes), fix });

  const specChanged = spec !== current.spec;
  const project = current.metadata.namespace ?? '';
  const unsupported = specChanged ? checkSupported(kind, project, spec, ctx, target) : undefined;
  if (unsupported !== undefined && !ctx.dryRun) return refused(unsupported);
  const warnings = unsupported === undefined ? judged : [...judged, ...warningOf(kind, unsupported)];
  if (!specChanged && (writable === current.metadata || sameWritable(writable, current.metadata))) {
    return { outcome: 'Prepared', object: current, warnings, specChanged: false, changed: false, gone: false };
  }
  const metadata: ObjectMeta = {
    ...(writable === current.metadata ? current.metadata : withWritable(current.metadata, writable)),
    generation: current.metadata.generation + (specChanged ? 1 : 0),
    managedFields: manageUpdate(
      current.metadata.managedFields,
      { manager: ctx.fieldManager, apiVersion, now: ctx.context.now },
      current,
      { metadata: writable, spec },
    ),
  };
  return {
    outcome: 'Prepared',
    object: obstruct({ ...current, apiVersion, metadata, spec }, { refusals: [unsupported] }),
    warnings,
    specChanged,
    changed: true,
    gone: metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0,
  };
}

/** The current version as text: what `If-Match` and `resourceVersion` are compared with. */
export function versionOf(current: ApiObject, ctx: WriteContext): string {
  return ctx.currentVersion === undefined ? (current.metadata.resourceVersion ?? '') : String(ctx.currentVersion);
}

/** The empty one sets no condition. */
function uidOf({ uid }: MetadataInput): string | undefined {
  return typeof uid === 'string' && uid !== '' ? uid : undefined;
}

/** The org is not in the object; nothing here compares it. */
function addressOf(current: ApiObject): Address {
  return { org: '', kind: current.kind, project: current.metadata.namespace ?? '', name: current.metadata.name };
}
