/**
 * The generic half of a create: from a parsed body to a whole new object with defaults, metadata and the status of
 * its birth. The address is already complete (`nameForCreate`); whether the name is free is for the commit to say.
 */
import type { Address } from '../../api/address.js';
import { invalid } from '../../api/causes.js';
import { manageCreate } from '../../api/managed-fields.js';
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import { rfc3339 } from '../../api/time.js';
import { estimateWork, obstruct, refuseRate } from '../estimate.js';
import { refuseCaps } from '../caps-below-hold.js';
import type { KindDefinition } from '../kind.js';
import { checkAddress, checkNewName, checkType } from './identity.js';
import { checkNewFinalizers, fixOfServiceFinalizers, serviceFinalizersIn, writableOf } from './metadata.js';
import { planOf } from './plan.js';
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

export function prepareCreate(
  kind: KindDefinition,
  address: Address,
  body: Readonly<Record<string, unknown>>,
  ctx: WriteContext,
): Prepared | RefusedWrite {
  const { apiVersion } = planOf(kind);
  const target = targetOf(kind, address);
  const mistyped = checkType(kind, apiVersion, body);
  if (mistyped !== undefined) return refused(mistyped);

  const complaints = noComplaints();
  readMembers(body, complaints);
  const input = readMetadata(body['metadata'], complaints);
  const spec = readSpec(kind, body['spec'], complaints);
  const badName = checkNewName(kind, address.name, input?.generateName);
  if (badName !== undefined) complaints.causes.unshift(badName);
  const lasting = input && checkNewFinalizers(kind, input);
  if (lasting !== undefined) complaints.causes.push(lasting);
  const ofService = lasting === undefined && input !== undefined ? serviceFinalizersIn(input) : [];
  complaints.causes.push(...ofService.map(({ cause }) => cause));
  const judged = judgeFields(complaints, ctx);
  if (input !== undefined) {
    const mismatch = checkAddress(address, input);
    if (mismatch !== undefined) return refused(mismatch);
    if (!isUnset(input.resourceVersion)) {
      const message = 'metadata.resourceVersion must not be set on an object to be created';
      return refused({ code: 'BadRequest', message, target });
    }
  }
  if (input === undefined || complaints.causes.length > 0) {
    const fix = lasting ? `Create the ${kind.kind} without metadata.finalizers.` : fixOfServiceFinalizers(ofService);
    return refused({ ...invalid(target, complaints.causes), fix });
  }
  const unsupported = checkSupported(kind, address.project, spec, ctx, target);
  if (unsupported !== undefined && !ctx.dryRun) return refused(unsupported);

  const writable = writableOf(input);
  const { now, prices, runHistory } = ctx.context;
  const metadata: ObjectMeta = {
    name: address.name,
    ...(isUnset(input.generateName) ? undefined : { generateName: input.generateName ?? '' }),
    ...(address.project === '' ? undefined : { namespace: address.project }),
    uid: ctx.context.uid(),
    generation: 1,
    creationTimestamp: rfc3339(now),
    ...writable,
    managedFields: manageCreate({ manager: ctx.fieldManager, apiVersion, now }, { metadata: writable, spec }),
  };
  const unborn: ApiObject = { apiVersion, kind: kind.kind, metadata, spec, status: undefined };
  const work = kind.pricedWork?.(unborn);
  const runsOf = runHistory && ((like: string) => runHistory(address.org, address.project, like));
  const tooDear = work && refuseRate(work, prices, target);
  if (tooDear !== undefined && !ctx.dryRun) return refused(tooDear);
  const { maxCostUSD } = spec as { readonly maxCostUSD?: string };
  const capped = work && refuseCaps(work, maxCostUSD, prices, target);
  if (capped !== undefined && !ctx.dryRun) return refused(capped);
  const born: ApiObject = { ...unborn, status: kind.initialStatus(unborn) };
  const priced: ApiObject = work
    ? { ...born, status: { ...(born.status as object), estimate: estimateWork(work, prices, now, runsOf) } }
    : born;
  const object = obstruct(priced, { refusals: [unsupported, tooDear, capped] });
  const warnings = [
    ...judged,
    ...warningOf(kind, unsupported),
    ...warningOf(kind, tooDear),
    ...warningOf(kind, capped),
  ];
  return { outcome: 'Prepared', object, warnings, specChanged: true, changed: true, gone: false };
}

function isUnset(value: string | null | undefined): boolean {
  return value === undefined || value === null || value === '' || value === '0';
}
