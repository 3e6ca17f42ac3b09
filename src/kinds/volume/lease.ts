/**
 * Owns the lease of a ReadWriteOnce Volume: who may write, and what becomes of what they return.
 *
 * I8: the lease is a uid with an epoch. It is renewed for a later epoch of the same holder, and from that commit on nothing that
 * an earlier epoch returns is taken. Asked for twice, it is granted twice; returned twice, it is answered twice.
 */
import type { Letter, RevisionRef, Sender } from '../letter.js';
import type { VolumeDraft } from './draft.js';
import { DEFAULT_HISTORY, MOST_WAITING } from './policy.js';
import type { Lease, Revision, Waiter } from './state.js';

type Wanted = Extract<Letter, { letter: 'LeaseWanted' }>;
type Returned = Extract<Letter, { letter: 'LeaseReturned' }>;

/** As it is called in `status.revision`. */
export function refOf({ number, digest }: Revision): RevisionRef {
  return { revision: String(number), digest };
}

export function takeWish(draft: VolumeDraft, letter: Wanted, from: Sender): void {
  const { lease } = draft.private;
  const { kind, name } = from.address;
  const asker: Lease = { kind, name, uid: from.uid, epoch: letter.epoch, attempt: letter.attempt };
  if (lease?.uid === from.uid) {
    if (letter.epoch < lease.epoch) return; // late
    const renewed = letter.epoch > lease.epoch;
    if (renewed) draft.keep({ lease: asker });
    grant(draft, asker, renewed);
    return;
  }
  const { returned } = draft.private;
  if (returned?.uid === from.uid && letter.epoch <= returned.epoch) return; // it was returned since
  if (draft.deleting) {
    deny(draft, asker, 'VolumeDeleting', 'the Volume is being deleted');
    return;
  }
  if (lease === undefined) {
    draft.keep({ lease: asker, waiting: without(draft.private.waiting, asker), usedAt: draft.now });
    grant(draft, asker, true);
    return;
  }
  deny(draft, asker, 'VolumeBusy', `it is held by ${lease.kind} "${lease.name}"`);
  const { waiting } = draft.private;
  const known = waiting.some((waiter) => isSame(waiter, asker));
  if (!known && waiting.length < MOST_WAITING) draft.keep({ waiting: [...waiting, { kind, name }] });
  check(draft, lease);
}

export function takeReturn(draft: VolumeDraft, letter: Returned, from: Sender): void {
  const { lease, returned: before, waiting } = draft.private;
  const { uid, epoch } = letter;
  const { kind, name } = from.address;
  if (lease?.uid === uid && lease.epoch === epoch) {
    const committed = letter.saved === undefined ? undefined : commit(draft, letter.saved);
    draft.keep({ lease: undefined, returned: { uid, epoch, committed: committed?.number }, usedAt: draft.now });
    draft.tell({ kind, name }, { letter: 'LeaseEnded', epoch, committed: committed && refOf(committed) }, true);
    free(draft);
    return;
  }
  // I8: nothing of it is taken. What was taken before is said again.
  const again = before?.uid === uid && before.epoch === epoch ? before.committed : undefined;
  const committed = draft.private.revisions.find(({ number }) => number === again);
  if (waiting.some((waiter) => isSame(waiter, { kind, name }))) {
    draft.keep({ waiting: without(waiting, { kind, name }) });
  }
  draft.tell({ kind, name }, { letter: 'LeaseEnded', epoch, committed: committed && refOf(committed) }, false);
}

/** The holder is not there any more. */
export function holderGone(draft: VolumeDraft): void {
  const { lease } = draft.private;
  if (lease === undefined) return;
  draft.keep({ lease: undefined, returned: { uid: lease.uid, epoch: lease.epoch }, usedAt: draft.now });
  free(draft);
}

/** A holder that forgot the lease, or went without returning it, keeps nobody waiting. */
export function check(draft: VolumeDraft, { kind, name, uid, epoch }: Lease): void {
  draft.tell({ kind, name }, { letter: 'LeaseChecked', uid, epoch }, false);
}

/** Equal files are no new revision. */
function commit(draft: VolumeDraft, saved: NonNullable<Returned['saved']>): Revision {
  const { revisions } = draft.private;
  const [newest] = revisions;
  if (newest?.digest === saved.digest) return newest;
  const { digest, size, time } = saved;
  const revision: Revision = { number: (newest?.number ?? 0) + 1, digest, size, time };
  draft.keep({ revisions: [revision, ...revisions] });
  return revision;
}

/** Revisions beyond the limit are let go of. */
export function trim(draft: VolumeDraft): void {
  const { revisions } = draft.private;
  const most = draft.volume.spec.revisionHistoryLimit ?? DEFAULT_HISTORY;
  if (revisions.length > most) draft.keep({ revisions: revisions.slice(0, most) });
}

function free(draft: VolumeDraft): void {
  for (const waiter of draft.private.waiting) draft.tell(waiter, { letter: 'LeaseFree' }, true);
  draft.keep({ waiting: [] });
}

function grant(draft: VolumeDraft, { kind, name, epoch }: Lease, stored: boolean): void {
  const [newest] = draft.private.revisions;
  draft.tell({ kind, name }, { letter: 'LeaseGranted', epoch, home: newest && refOf(newest) }, stored);
}

function deny(draft: VolumeDraft, { kind, name, epoch }: Lease, reason: string, message: string): void {
  draft.tell({ kind, name }, { letter: 'LeaseDenied', epoch, reason, message }, false);
}

function isSame(a: Waiter, b: Waiter): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function without(waiting: readonly Waiter[], one: Waiter): readonly Waiter[] {
  return waiting.filter((waiter) => !isSame(waiter, one));
}
