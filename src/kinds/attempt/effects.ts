/** What an Attempt asks of others: a place, its work, and that its owner hears how it stands. */
import type { Address } from '../../api/address.js';
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { readPayer } from '../attempts/payer.js';
import { LOCAL_NODE } from '../node/local.js';
import { readPlace } from './annotations.js';
import { hasEnded, type AttemptStatus } from './schema.js';
import { ownerOf, WORK_FINALIZER, type Attempt, type AttemptPrivate, type Owner, type This } from './state.js';

/** Between SIGTERM and SIGKILL when nobody says otherwise. */
export const GRACE_SECONDS = 30;

export function wantPlace(current: This, held: boolean): readonly LaterEffect[] {
  return [{ type: 'Tell', to: LOCAL_NODE, message: placeMessage(current, held) }];
}

function placeMessage(current: This, held: boolean): ObjectMessage {
  const { metadata, status } = current.object;
  const owner = topOwnerOf(current);
  const since = parseTime(status.timings?.queuedTime ?? metadata.creationTimestamp) ?? 0;
  const amounts = readPlace(metadata.annotations);
  return { type: 'PlaceWanted', owner: owner.address, ownerUid: owner.uid, since, amounts, held };
}

/** Turns go round owners: all cells of a Sweep have one together, as the indexes of a Job have. An orphan is its own. */
function topOwnerOf(current: This): Owner {
  const { address, object } = current;
  const { org } = address;
  // The last of those whose cost it is; before there were prices, nobody wrote that down.
  const top = readPayer(object.metadata.annotations)?.costs.at(-1);
  if (top !== undefined)
    return { address: { org, kind: top.kind, project: top.project, name: top.name }, uid: top.uid };
  return ownerOf(current) ?? { address, uid: object.metadata.uid };
}

/**
 * What an Attempt that cannot speak for itself (it is parked) would say of its place; undefined when it holds none. The
 * finalizer is there from the grant to the proof that nothing of the work is left.
 */
export const heldPlace: { by(address: Address, attempt: ApiObject): ObjectMessage | undefined }['by'] = (
  address,
  attempt: Attempt,
) => {
  if (!(attempt.metadata.finalizers ?? []).includes(WORK_FINALIZER)) return undefined;
  return placeMessage({ address, object: attempt, private: undefined }, true);
};

export function releasePlace(): LaterEffect {
  return { type: 'Tell', to: LOCAL_NODE, message: { type: 'PlaceReleased' } };
}

export function stopWaiting(): LaterEffect {
  return { type: 'Tell', to: LOCAL_NODE, message: { type: 'PlaceReleased', waited: true } };
}

export function startWork(current: This): readonly LaterEffect[] {
  const owner = ownerOf(current);
  if (owner === undefined) return [];
  const { slot, epoch } = current.object.spec;
  return [{ type: 'StartWork', owner: owner.address, ownerUid: owner.uid, slot, epoch }];
}

export function stopWork(current: This, graceSeconds: number = GRACE_SECONDS): LaterEffect {
  return { type: 'StopWork', epoch: current.object.spec.epoch, graceSeconds };
}

/** Logs stay as long as the Attempt does: they go when it is going. */
export function removeWork(current: This, going = false): LaterEffect {
  const { metadata, spec } = current.object;
  return { type: 'RemoveWork', epoch: spec.epoch, logs: going || metadata.deletionTimestamp !== undefined };
}

/** How the Attempt stands after a decision, to its owner. */
export function tellOwner(current: This, status: AttemptStatus, kept: AttemptPrivate): readonly LaterEffect[] {
  const owner = ownerOf(current);
  if (owner === undefined) return [];
  const { slot, epoch } = current.object.spec;
  return [
    {
      type: 'Tell',
      to: owner.address,
      uid: owner.uid,
      message: {
        type: 'AttemptChanged',
        slot,
        epoch,
        phase: status.phase ?? 'Queued',
        lost: kept.lost ?? false,
        reason: status.reason ?? '',
        message: kept.message ?? '',
        exitCode: status.exitCode,
        time: kept.since ?? 0,
        outputs: kept.outputs,
        shortfall: kept.shortfall,
        unrestored: kept.unrestored,
        unsaved: hasEnded(status.phase) ? undefined : kept.saving?.error,
        units: hasEnded(status.phase) ? status.progress?.completed : undefined,
        gone: (hasEnded(status.phase) && (kept.work === 'None' || kept.work === 'Gone')) || undefined,
      },
    },
  ];
}
