/**
 * Makes the request to commit out of a draft: encodes the object once, and lets the decisions' effects add their rows to the very
 * transaction of the object (I5).
 */
import { encodeObject } from '../../src/api/encode.js';
import { awaitsFinalCost } from '../../src/kinds/cost-status.js';
import type { ApiObject } from '../../src/api/object.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { CommitRequest, IdempotencyWrite, ObjectWrite } from '../../storage/commit/request.js';
import { addRows, type CommitContext, type CommitRows } from '../effects/commit-effects.js';
import type { Draft } from './draft.js';

export type CommitRequestDeps = Pick<CommitContext, 'nextGeneration'>;

/** The row as it was before; undefined when the object is being created. */
export interface Basis {
  readonly version: number;
  readonly body: Buffer;
  /** Owners as last written, to see whether the rows for garbage collection change. */
  readonly owners: readonly string[];
  /** Blobs as last written, to see whether the rows that keep them change. */
  readonly blobs: readonly string[];
}

/** `secrets` are the draft's sealed values. Undefined when the draft changes nothing: then nothing is written and the version stays. */
export function commitRequestOf(
  draft: Draft,
  kind: KindDefinition,
  basis: Basis | undefined,
  secrets: CommitRequest['secrets'],
  deps: CommitRequestDeps,
  idempotency?: IdempotencyWrite,
): CommitRequest | undefined {
  const body = encodeObject(draft.object);
  const { uid } = draft.object.metadata;
  const rows: CommitRows = {
    ...{ events: [], credentials: [], money: [], dropSecretsBelow: undefined },
    timers: draft.clearedTimers.map((cleared) => ({ op: 'clear', ...cleared })),
    revokeCredentials: draft.gone,
    blobs: blobsOf(draft, kind, basis),
  };
  const context = { status: draft.object.status, gone: draft.gone, nextGeneration: deps.nextGeneration };
  for (const effect of draft.atCommit) addRows(rows, effect, context);
  const owners = (draft.object.metadata.ownerReferences ?? []).map((owner) => owner.uid);
  const asked = draft.later.length + draft.atCommit.length + draft.slots.length + rows.timers.length;
  if (basis && !draft.gone && asked === 0 && !draft.privateChanged && sameBody(body, basis.body)) return undefined;
  return {
    address: draft.address,
    uid,
    write: writeOf(draft, body, basis),
    private: draft.private === undefined || draft.private === null ? null : JSON.stringify(draft.private),
    active: !draft.gone && isActive(draft.object, kind),
    owners: basis === undefined || owners.join() !== basis.owners.join() ? owners : undefined,
    ...rows,
    effects: draft.later,
    slots: draft.slots,
    secrets,
    idempotency,
  };
}

/** What has ended is active until its status shows the last charge, so that the next start asks for that again. */
export function isActive(object: ApiObject, kind: KindDefinition): boolean {
  const { machine } = kind;
  return machine.isTerminal !== undefined && (!machine.isTerminal(object.status) || awaitsFinalCost(object, kind));
}

/** Kept from the commit of the decision that names them to that of the one that names them no more, or to the object's end. */
function blobsOf(draft: Draft, kind: KindDefinition, basis: Basis | undefined): CommitRequest['blobs'] {
  const needed = kind.blobs?.(draft.object, draft.private) ?? [];
  const before = basis?.blobs ?? [];
  if (draft.gone || (needed.length === 0 && before.length === 0)) return undefined;
  return basis === undefined || needed.join() !== before.join() ? needed : undefined;
}

function writeOf(draft: Draft, body: Buffer, basis: Basis | undefined): ObjectWrite {
  if (basis === undefined) return { op: 'insert', body };
  // I3: the write names the version that it replaces.
  return { op: draft.gone ? 'delete' : 'update', body, expected: basis.version };
}

/** Equal but for the version, which stands in a hole at the same place in both. */
function sameBody(next: Buffer, current: Buffer): boolean {
  if (next.length !== current.length) return false;
  const hole = next.indexOf(HOLE_START);
  if (hole < 0) return false;
  const from = hole + HOLE_START.length;
  const to = next.indexOf(',', from);
  return next.compare(current, 0, from, 0, from) === 0 && next.compare(current, to, undefined, to) === 0;
}

const HOLE_START = '"resourceVersion":';
