/**
 * The lease of a ReadWriteOnce Volume: who may write, and what becomes of what they return.
 *
 * I8: the lease is a uid with a term. It is renewed for a later epoch of the same holder, which is a new term, and from that commit
 * on nothing that an earlier one returns is taken. Asked for twice, it is granted twice; returned twice, it is answered twice.
 */
import { parseBytes } from '../../api/quantity.js';
import type { ObjectMessage, RevisionRef, MessageSender } from '../object-message.js';
import { DEFAULT_HISTORY, type Lease, MOST_WAITING, type Revision, type VolumeDraft, type Waiter } from './state.js';

type Wanted = Extract<ObjectMessage, { type: 'LeaseWanted' }>;
type Returned = Extract<ObjectMessage, { type: 'LeaseReturned' }>;

/** As it is called in `status.revision`. */
export function refOf({ number, digest }: Revision): RevisionRef {
  return { revision: String(number), digest };
}

export function takeWish(draft: VolumeDraft, message: Wanted, from: MessageSender): void {
  const { lease } = draft.private;
  const { kind, name } = from.address;
  const { term, epoch, attempt } = message;
  const asker: Lease = { kind, name, uid: from.uid, term, epoch, attempt };
  if (lease?.uid === from.uid) {
    if (term < lease.term) return; // late
    const renewed = term > lease.term;
    if (renewed) draft.keep({ lease: asker });
    grant(draft, asker, renewed);
    return;
  }
  const { returned } = draft.private;
  if (returned?.uid === from.uid && term <= returned.term) return; // it was returned since
  if (draft.deleting) {
    deny(draft, asker, 'VolumeDeleting', 'the Volume is being deleted');
    // It asks again when the Volume goes, and hears that there is none.
    awaitFree(draft, asker);
    return;
  }
  if (lease === undefined) {
    draft.keep({ lease: asker, waiting: without(draft.private.waiting, asker), usedAt: draft.now });
    grant(draft, asker, true);
    return;
  }
  deny(draft, asker, 'VolumeBusy', `it is held by ${lease.kind} "${lease.name}"`);
  awaitFree(draft, asker);
  check(draft, lease);
}

function awaitFree(draft: VolumeDraft, { kind, name, uid }: Waiter): void {
  const { waiting } = draft.private;
  const known = waiting.some((waiter) => isSame(waiter, { kind, name, uid }));
  if (!known && waiting.length < MOST_WAITING) draft.keep({ waiting: [...waiting, { kind, name, uid }] });
}

export function takeReturn(draft: VolumeDraft, message: Returned, from: MessageSender): void {
  const { lease, returned: before, waiting } = draft.private;
  const { uid, term, of } = message;
  const { kind, name } = from.address;
  const writer: Waiter = { kind, name, uid: from.uid };
  const mine = of === undefined || of === draft.volume.metadata.uid;
  if (mine && lease?.uid === uid && lease.term === term) {
    const committed = message.saved === undefined ? undefined : commit(draft, message.saved);
    draft.keep({ lease: undefined, returned: { uid, term, committed: committed?.number }, usedAt: draft.now });
    draft.tell(writer, { type: 'LeaseEnded', term, committed: committed && refOf(committed) }, true);
    free(draft);
    return;
  }
  // I8: nothing of it is taken. What was taken before is said again.
  const again = mine && before?.uid === uid && before.term === term ? before.committed : undefined;
  // Others may have held it since: what it has brought is safe while it is among the revisions.
  const committed = draft.private.revisions.find(
    ({ number, digest }) => number === again || (mine && digest === message.saved?.digest),
  );
  if (waiting.some((waiter) => isSame(waiter, writer))) {
    draft.keep({ waiting: without(waiting, writer) });
  }
  draft.tell(writer, { type: 'LeaseEnded', term, committed: committed && refOf(committed) }, false);
}

/** The holder is not there any more. */
export function holderGone(draft: VolumeDraft): void {
  const { lease } = draft.private;
  if (lease === undefined) return;
  draft.keep({ lease: undefined, returned: { uid: lease.uid, term: lease.term }, usedAt: draft.now });
  free(draft);
}

/** A holder that forgot the lease, or went without returning it, keeps nobody waiting. */
export function check(draft: VolumeDraft, { kind, name, uid, term }: Lease): void {
  draft.tell({ kind, name }, { type: 'LeaseChecked', uid, term }, false);
}

/** Equal files are no new revision. */
function commit(draft: VolumeDraft, saved: NonNullable<Returned['saved']>): Revision {
  const { revisions } = draft.private;
  const [newest] = revisions;
  if (newest?.digest === saved.digest) return newest;
  const { digest, size, logical, time } = saved;
  const revision: Revision = { number: (newest?.number ?? 0) + 1, digest, size, logical, time };
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
  for (const waiter of draft.private.waiting) draft.tell(waiter, { type: 'LeaseFree' }, true);
  draft.keep({ waiting: [] });
}

function grant(draft: VolumeDraft, { kind, name, uid, term }: Lease, stored: boolean): void {
  const [newest] = draft.private.revisions;
  const { size } = draft.volume.spec;
  const most = size === undefined ? undefined : parseBytes(size);
  const home = newest && refOf(newest);
  // To the object that has the name now: another incarnation gives back what the one before held.
  draft.tell({ kind, name }, { type: 'LeaseGranted', uid, term, home, size: most }, stored);
}

function deny(draft: VolumeDraft, { kind, name, uid, term }: Lease, reason: string, message: string): void {
  draft.tell({ kind, name, uid }, { type: 'LeaseDenied', term, reason, message }, false);
}

function isSame(a: Waiter, b: Waiter): boolean {
  return a.kind === b.kind && a.name === b.name && a.uid === b.uid;
}

function without(waiting: readonly Waiter[], one: Waiter): readonly Waiter[] {
  return waiting.filter((waiter) => !isSame(waiter, one));
}
