/**
 * Owns the step from a draft to a member of a commit: encodes the object once, and sorts what the decisions asked for
 * into the rows of that very transaction (I5).
 */
import { encodeObject } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type {
  EventRow,
  IdempotencyWrite,
  CommitRequest,
  ObjectWrite,
  TimerWrite,
} from '../../storage/commit/request.js';
import type { Draft } from './draft.js';

export interface CommitRequestDeps {
  /** Strictly increasing: names each arming of a timer, so that a job of an earlier one is recognised. */
  nextGeneration(): number;
}

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
  const timers: TimerWrite[] = draft.clearedTimers.map((cleared) => ({ op: 'clear', ...cleared }));
  const events: EventRow[] = [];
  const credentials: CommitRequest['credentials'][number][] = [];
  const holds: CommitRequest['holds'][number][] = [];
  const releases: string[] = [];
  const postings: CommitRequest['postings'][number][] = [];
  let dropSecretsBelow: number | undefined;
  let revokeCredentials = draft.gone;
  let blobs = blobsOf(draft, kind, basis);
  for (const effect of draft.atCommit) {
    switch (effect.type) {
      case 'Emit':
        events.push({
          event: effect.event,
          reason: effect.reason,
          message: effect.message,
          status: eventStatus(draft.object.status),
        });
        break;
      case 'ArmTimer':
        timers.push({ op: 'arm', timer: effect.timer, generation: deps.nextGeneration(), at: effect.at });
        break;
      case 'CancelTimer':
        timers.push({ op: 'clear', timer: effect.timer, generation: Number.MAX_SAFE_INTEGER });
        break;
      case 'SealSecret':
        break; // sealed before, since kept values have to be read: `secrets`
      case 'DropSecretVersions':
        dropSecretsBelow = effect.below;
        break;
      case 'GrantCredential':
        credentials.push({ sha256: effect.sha256, expires: effect.expires, detail: effect.detail });
        break;
      case 'RevokeCredentials':
        revokeCredentials = true;
        break;
      case 'ReleaseBlobs':
        blobs = draft.gone ? undefined : [];
        break;
      case 'PlaceHold':
        holds.push(effect.hold);
        break;
      case 'ReleaseHold':
        releases.push(effect.key);
        break;
      case 'Post':
        postings.push(effect.posting);
        break;
      case 'DeleteSelf':
        break; // became `gone` in the draft
    }
  }
  const owners = (draft.object.metadata.ownerReferences ?? []).map((owner) => owner.uid);
  const asked = draft.later.length + draft.atCommit.length + draft.slots.length + timers.length;
  if (basis && !draft.gone && asked === 0 && !draft.privateChanged && sameBody(body, basis.body)) return undefined;
  return {
    address: draft.address,
    uid,
    write: writeOf(draft, body, basis),
    private: draft.private === undefined || draft.private === null ? null : JSON.stringify(draft.private),
    active: !draft.gone && kind.machine.isTerminal !== undefined && !kind.machine.isTerminal(draft.object.status),
    owners: basis === undefined || owners.join() !== basis.owners.join() ? owners : undefined,
    blobs,
    effects: draft.later,
    events,
    timers,
    slots: draft.slots,
    secrets,
    dropSecretsBelow,
    credentials,
    revokeCredentials,
    holds,
    releases,
    postings,
    idempotency,
  };
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

/** What an event shows of its object's status: never more than phase and reason. */
function eventStatus(status: unknown): string {
  const { phase, reason } = (status ?? {}) as { phase?: unknown; reason?: unknown };
  return JSON.stringify({ phase, reason });
}
