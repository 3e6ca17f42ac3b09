/** Owns what an Attempt asks of others: a place, its work, and that its owner hears how it stands. */
import { parseTime } from '../../api/time.js';
import type { LaterEffect } from '../effect.js';
import { LOCAL_NODE } from '../node/local.js';
import { readPlace } from './place-annotation.js';
import type { AttemptStatus } from './schema.js';
import { ownerOf, type AttemptPrivate, type This } from './state.js';

/** Between SIGTERM and SIGKILL when nobody says otherwise. */
const GRACE_SECONDS = 30;

export function wantPlace(current: This, held: boolean): readonly LaterEffect[] {
  // Turns go round owners; an orphan is its own.
  const owner = ownerOf(current) ?? { address: current.address, uid: current.object.metadata.uid };
  const { metadata, status } = current.object;
  const since = parseTime(status.timings?.queuedTime ?? metadata.creationTimestamp) ?? 0;
  const amounts = readPlace(metadata.annotations);
  const letter = { letter: 'PlaceWanted' as const, owner: owner.address, ownerUid: owner.uid, since, amounts, held };
  return [{ type: 'Tell', to: LOCAL_NODE, letter }];
}

export function releasePlace(): LaterEffect {
  return { type: 'Tell', to: LOCAL_NODE, letter: { letter: 'PlaceReleased' } };
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
      letter: {
        letter: 'AttemptChanged',
        slot,
        epoch,
        phase: status.phase ?? 'Queued',
        lost: kept.lost ?? false,
        reason: status.reason ?? '',
        message: kept.message ?? '',
        exitCode: status.exitCode,
        time: kept.since ?? 0,
        outputs: kept.outputs,
      },
    },
  ];
}
