/**
 * Carries out the effects by which an object makes, changes and deletes one object that it owns: CreateChild, PatchChild, DeleteChild. Each
 * goes through the child's own actor like any client's write (I1). Many at once are collected in `collect.ts`.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import type { ErrorCode } from '../../src/api/errors/codes.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { isMadeFor } from '../../src/kinds/lifecycle.js';
import type { Payer } from '../../src/money/payer.js';
import { MAX_COST_REACHED } from '../../src/kinds/attempts/holds.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { apiVersionOf } from '../../src/kinds/versions.js';
import type { Objects, StoredEffects } from '../../storage/store.js';
import type { DeleteOptions, ObjectPatch, WriteReply } from '../resource-service.js';
import type { EffectOf, LaterEffectDefinition } from './definition.js';
import { DONE, retry, wait, type EffectOutcome } from './outcome.js';

export interface ChildrenDeps {
  readonly kinds: readonly KindDefinition[];
  readonly objects: Pick<Objects, 'ownedBy' | 'keys' | 'read' | 'slot'>;
  read(address: Address): Promise<Buffer | undefined>;
  write(address: Address, request: ServiceWrite): Promise<WriteReply>;
  /** Resolves when no create is under way into the project. */
  quiet(org: string, project: string): Promise<void>;
  /** The project may name none of its blobs any more. */
  forgetBlobs(org: string, project: string): Promise<void>;
  tell(row: StoredEffects, to: Address, uid: string | undefined, message: ObjectMessage): Promise<EffectOutcome>;
}

/** A write of the service itself, before it is given the service's own caller. */
export type ServiceWrite =
  | { readonly verb: 'create'; readonly body: Record<string, unknown>; readonly payer?: Payer | undefined }
  | { readonly verb: 'replace'; readonly body: Record<string, unknown> }
  | { readonly verb: 'patch'; readonly patch: ObjectPatch }
  | { readonly verb: 'delete'; readonly options: DeleteOptions };

export const createChildEffect: LaterEffectDefinition<'CreateChild', ChildrenDeps> = {
  pool: 'general',
  // The same as of a message to it: a message to a child comes after the child was made.
  laneOf: ({ kind, name, project }, asking) =>
    addressKey({ ...asking, kind, name, project: project ?? asking.project }),
  run: createChild,
};

export const patchChildEffect: LaterEffectDefinition<'PatchChild', ChildrenDeps> = {
  pool: 'general',
  // As of its create, so that it comes after that.
  laneOf: ({ kind, name }, asking) => addressKey({ ...asking, kind, name }),
  run: patchChild,
};

export const deleteChildEffect: LaterEffectDefinition<'DeleteChild', ChildrenDeps> = {
  pool: 'deletes',
  laneOf: ({ kind, name }, asking) => addressKey({ ...asking, kind, name }),
  run: deleteChild,
};

export async function createChild(
  row: StoredEffects,
  effect: EffectOf<'CreateChild'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const owner = kindNamed(deps.kinds, row.address.kind);
  const kind = kindNamed(deps.kinds, effect.kind);
  const project = kind.scope === 'org' ? '' : (effect.project ?? row.address.project);
  const address: Address = { org: row.address.org, kind: effect.kind, project, name: effect.name };
  if (!(await stands(row, deps))) return DONE; // nothing would collect it
  if (row.recalled && !(await isAwaited(row, effect, owner, deps))) return DONE; // I8
  const reply = await deps.write(address, {
    verb: 'create',
    payer: effect.payer,
    body: {
      metadata: {
        name: effect.name,
        ...(effect.labels && { labels: effect.labels }),
        ...(effect.annotations && { annotations: effect.annotations }),
        ownerReferences: [
          {
            apiVersion: apiVersionOf(owner),
            kind: owner.kind,
            name: row.address.name,
            uid: row.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: effect.spec,
    },
  });
  if (reply.outcome === 'Done') {
    // The owner may have gone, and its children been collected, while this one was being made.
    if (await stands(row, deps)) return DONE;
    const { uid } = decodeObject(reply.body).metadata;
    return remove(address, { preconditions: { uid }, propagationPolicy: 'Background' }, deps);
  }
  if (reply.parked) return refusedAs(reply);
  // Whatever refuses: what an earlier run has made counts in limits, and would be refused because of itself.
  const there = await deps.read(address);
  const child = there && decodeObject(there);
  if (child !== undefined && controls(row.uid, child) && (await isOurs(row, address, kind, deps))) {
    // Made by an earlier run of this effect; or by a client, before its owner knew of it.
    if (kind.asChild === undefined) return DONE;
    return deps.tell(row, address, child.metadata.uid, { type: 'ChildAsked' });
  }
  if (reply.refusal.code !== 'AlreadyExists') return refusedAs(reply);
  if (child === undefined) return retry('the child went while it was being looked at');
  return { outcome: 'Failed', reason: 'AlreadyExists', message: `${effect.kind} "${effect.name}" belongs to another` };
}

/**
 * Whether the owner still waits for this child. What was read from storage may have been carried out long ago and only be
 * kept by another effect of its row: an Attempt that was made, has ended and was deleted must not be made anew.
 */
async function isAwaited(
  { address, uid }: StoredEffects,
  effect: EffectOf<'CreateChild'>,
  kind: KindDefinition,
  deps: ChildrenDeps,
): Promise<boolean> {
  const attempt = (effect.spec ?? {}) as { slot?: number; epoch?: number };
  const index = effect.slot ?? attempt.slot;
  if (index === undefined) return true;
  const stored = await deps.objects.read(address);
  if (stored?.uid !== uid) return false;
  const slot = kind.machine.sideState?.stored ? await deps.objects.slot(address.org, uid, index) : undefined;
  if (kind.awaitsChild !== undefined) return kind.awaitsChild(slot);
  if (kind.awaitsAttempt === undefined || attempt.epoch === undefined) return true;
  const kept: unknown = stored.private === null ? undefined : JSON.parse(stored.private);
  return kind.awaitsAttempt({ kept, slot }, attempt.epoch);
}

/**
 * Whether the owner still asks for this. A row that was read from storage may have been carried out for this child long ago and only be kept by
 * another effect of it, such as a change of a child that is not there: what the owner has asked since must not be undone.
 */
async function isAskedStill(
  { address, uid }: StoredEffects,
  { slot: index, spec }: EffectOf<'PatchChild'>,
  { kinds, objects }: ChildrenDeps,
): Promise<boolean> {
  const { asksOfChild } = kindNamed(kinds, address.kind);
  if (index === undefined || asksOfChild === undefined) return true;
  return asksOfChild(await objects.slot(address.org, uid, index), spec);
}

/** Only what the asking object owns is changed: a name may stand for another object by now. */
async function patchChild(
  row: StoredEffects,
  effect: EffectOf<'PatchChild'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  if (row.recalled && !(await isAskedStill(row, effect, deps))) return DONE;
  const address: Address = { ...row.address, kind: effect.kind, name: effect.name };
  const there = await deps.read(address);
  // Its end says itself what became of it.
  if (!there) return effect.uid === undefined ? retry('the child is not there yet') : DONE;
  const { uid } = decodeObject(there).metadata;
  if (!owns(row.uid, decodeObject(there)) || (effect.uid !== undefined && uid !== effect.uid)) return DONE;
  const patch = { metadata: { uid }, spec: effect.spec };
  const reply = await deps.write(address, { verb: 'patch', patch: { type: 'merge', patch } });
  if (reply.outcome === 'Done' || reply.refusal.code === 'NotFound') return DONE;
  return refusedAs(reply);
}

/** Whether the object that asked still exists, as the same incarnation. */
export async function stands(row: StoredEffects, deps: ChildrenDeps): Promise<boolean> {
  const owner = await deps.read(row.address);
  return owner !== undefined && uidOf(owner) === row.uid;
}

/** An owner of thousands is asked for twice by each of them: its body, which is large then, is decoded once per version. */
const uids = new WeakMap<Buffer, string>();

function uidOf(body: Buffer): string {
  const known = uids.get(body);
  if (known !== undefined) return known;
  const { uid } = decodeObject(body).metadata;
  uids.set(body, uid);
  return uid;
}

async function deleteChild(
  row: StoredEffects,
  effect: EffectOf<'DeleteChild'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const { org, project } = row.address;
  const options: DeleteOptions = { preconditions: { uid: effect.uid }, propagationPolicy: 'Background' };
  return remove({ org, kind: effect.kind, project, name: effect.name }, options, deps);
}

/** Done when the object is gone or on its way out. Failed: its kind refuses to let it go. */
export async function remove(address: Address, options: DeleteOptions, deps: ChildrenDeps): Promise<EffectOutcome> {
  const reply = await deps.write(address, { verb: 'delete', options });
  if (reply.outcome === 'Done' || reply.refusal.code === 'NotFound') return DONE;
  const uid = options.preconditions?.uid;
  if (reply.refusal.code !== 'Conflict' || uid === undefined) return refusedAs(reply);
  // Another incarnation lives there now, so the one that was meant is gone; or its kind refuses.
  const there = await deps.read(address);
  if (!there || decodeObject(there).metadata.uid !== uid) return DONE;
  return { outcome: 'Failed', reason: 'Conflict', message: reply.refusal.message };
}

/** Refusals that pass by themselves. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'Unavailable',
  'InternalError',
  'Conflict',
  'PaymentVerificationUnavailable',
]);

export function refusedAs(reply: Extract<WriteReply, { outcome: 'Refused' }>): EffectOutcome {
  const { code, message } = reply.refusal;
  if (reply.parked) return wait(message);
  if (PASSING.has(code)) return retry(message);
  const capped = reply.refusal.causes?.some(({ reason }) => reason === MAX_COST_REACHED) === true;
  return { outcome: 'Failed', reason: capped ? MAX_COST_REACHED : code, message, shortfall: reply.shortfall };
}

/** Made by the service for this owner, as far as it is known. */
async function isOurs(
  row: StoredEffects,
  address: Address,
  { asChild }: KindDefinition,
  deps: ChildrenDeps,
): Promise<boolean> {
  if (asChild === undefined) return true;
  const stored = await deps.objects.read(address);
  const kept: unknown = stored?.private == null ? undefined : JSON.parse(stored.private);
  return isMadeFor(row.uid, kept, asChild);
}

function controls(uid: string, child: ApiObject): boolean {
  return (child.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid && owner.controller === true);
}

function owns(uid: string, child: ApiObject): boolean {
  return (child.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

export function kindNamed(kinds: readonly KindDefinition[], name: string): KindDefinition {
  const kind = kinds.find((candidate) => candidate.kind === name);
  if (!kind) throw new Error(`no kind ${name}`);
  return kind;
}
